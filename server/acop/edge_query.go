package acop

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	core "signalbox/model/acop"
)

// queryNames says for each method and route which parameters it takes, and
// whether one may be repeated. It is read from the API's description, so that
// what is described is what is taken.
var queryNames = sync.OnceValue(func() map[string]map[string]bool {
	out := make(map[string]map[string]bool, len(operations))
	for _, op := range operations {
		names := make(map[string]bool, len(op.query))
		for _, spec := range op.query {
			name, repeated := strings.CutSuffix(spec, "[]")
			names[name] = repeated
		}
		out[op.method+" "+op.path] = names
	}
	return out
})

// checkQuery refuses a query that would be understood in part only: one that
// is not well formed, is no valid text, names something this path does not
// know, or says two things where one counts. A misspelt filter must not come
// out as a longer list.
func (v *visit) checkQuery() *core.Error {
	q, err := url.ParseQuery(v.r.URL.RawQuery)
	if err != nil {
		return violation("the query is not well formed")
	}
	method := v.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	known := queryNames()[method+" "+v.route.name]
	for name, values := range q {
		if !usableText(name) {
			return violation("a name in the query is not valid text")
		}
		repeated, told := known[name]
		if !told {
			return violation("unknown parameter %s", clip(name, 40))
		}
		if len(values) > 1 && !repeated {
			return violation("%s is given more than once", name)
		}
		for _, s := range values {
			if !usableText(s) {
				return violation("%s is not valid text", name)
			}
		}
	}
	return nil
}

// usableText tells whether text from outside a body is what JSON text must be
// too: valid UTF-8 without NUL (B70, B71).
func usableText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
