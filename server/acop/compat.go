package acop

import (
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	core "signalbox/model/acop"
)

// compatBase is the opt-in mount for clients that do not speak the binding
// exactly. It takes their bodies, says the same in the
// binding's words and goes on as on the strict mount, which stays as it is.
const compatBase = "/acop/compat/"

// compatRoutes are the verbs of the binding; nothing else is served there.
var compatRoutes = map[string]translator{
	"PUT work-items":              compatPut,
	"POST claims":                 compatClaim,
	"POST claims/{id}/renew":      compatRenew,
	"POST claims/{id}/release":    compatRelease,
	"POST claims/{id}/complete":   compatComplete,
	"POST work-items/{id}/accept": compatAccept,
	"POST blackboard":             compatPost,
}

// translator says a loose body in the binding's words.
type translator func(c *compatBody) (object, *core.Error)

// compatBody is a loose body with everything that decides how it is read.
type compatBody struct {
	in     map[string]any // snake_case names, no nulls
	id     string         // of the path
	caller Caller
	now    core.Time
	item   func(id string) (*core.Item, bool)
	used   map[string]bool
	// note is what has no place in the record; it goes into the log.
	note []string
	// consume and strictSelf belong to accept.
	consume, strictSelf bool
}

// translate turns a checked body into one of the binding. apply completes the
// act with what only this mount can say.
func (v *visit) translate(body []byte) (strict []byte, apply func(*request), refused *core.Error) {
	var raw map[string]any
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, nil, violation("the body is not valid JSON")
	}
	c := &compatBody{in: loose(raw), id: v.id, caller: v.caller, now: v.s.service.clock.stamp(), item: v.s.opts.Store.Item, used: make(map[string]bool)}
	version, given := c.in["protocol_version"]
	if !given {
		version = core.ProtocolVersion
	}
	c.skip("protocol_version", "action")
	out, refused := compatRoutes[v.r.Method+" "+v.route.name](c)
	if refused != nil {
		return nil, nil, refused
	}
	out["protocol_version"] = version
	if rest := c.unused(); len(rest) > 0 {
		v.s.log.Info("members of a compat request were ignored", "route", v.route.name, "members", rest)
	}
	strict, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return nil, nil, violation("the body is not valid JSON")
	}
	note := clip(strings.Join(c.note, "; "), 500)
	return strict, func(r *request) {
		if note != "" && r.Reason == "" {
			r.Reason = note
		}
		r.consume, r.strictSelf = c.consume, c.strictSelf
	}, nil
}

// loose renames members to snake_case and drops nulls: null means absent (E-06,
// E-11). Where both casings are given, the binding's own counts.
func loose(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		if v == nil {
			continue
		}
		key := snake(name)
		if _, taken := out[key]; taken && key != name {
			continue
		}
		if inner, isObject := v.(map[string]any); isObject && key != "completion_evidence" {
			v = loose(inner)
		}
		out[key] = v
	}
	return out
}

// snake turns camelCase and PascalCase into snake_case.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) {
			if i > 0 {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (c *compatBody) skip(names ...string) {
	for _, n := range names {
		c.used[n] = true
	}
}

func (c *compatBody) unused() []string {
	var out []string
	for n := range c.in {
		if !c.used[n] && len(out) < 20 {
			out = append(out, clip(n, 40))
		}
	}
	return out
}

// get takes the first given member of the names.
func (c *compatBody) get(names ...string) any {
	c.skip(names...)
	for _, n := range names {
		if v, given := c.in[n]; given {
			return v
		}
	}
	return nil
}

// text takes a string member, "" when it is absent. Other values are left for
// the schema to refuse.
func (c *compatBody) text(names ...string) string {
	s, _ := c.get(names...).(string)
	return s
}

// copy puts a member into out under the binding's name, if it is given.
func (c *compatBody) copy(out object, to string, names ...string) {
	if v := c.get(append(names, to)...); v != nil {
		out[to] = v
	}
}

// words puts a list of text into out; elements that are the JSON text of a
// string are unquoted, as one client encodes them twice.
func (c *compatBody) words(out object, to string, names ...string) {
	v := c.get(append(names, to)...)
	if v == nil {
		v = c.scoped(to)
	}
	list, isList := v.([]any)
	if !isList {
		if v != nil {
			out[to] = v
		}
		return
	}
	clean := make([]any, len(list))
	for i, e := range list {
		clean[i] = e
		if s, isText := e.(string); isText && strings.HasPrefix(s, `"`) {
			var inner string
			if json.Unmarshal(jsontext.Value(s), &inner) == nil {
				clean[i] = inner
			}
		}
	}
	out[to] = clean
}

// scoped reads a member of the scope object, which older callers send.
func (c *compatBody) scoped(name string) any {
	c.skip("scope")
	scope, _ := c.in["scope"].(map[string]any)
	return scope[name]
}

// keep notes a member that the record has no place for.
func (c *compatBody) keep(names ...string) {
	for _, n := range names {
		v := c.get(n)
		if v == nil {
			continue
		}
		s, isText := v.(string)
		if !isText {
			raw, err := json.Marshal(v)
			if err != nil {
				continue
			}
			if s = string(raw); s == "[]" {
				continue
			}
		}
		c.note = append(c.note, n+" "+s)
	}
}

// same demands that an id in the body is the one in the path (E-15).
func (c *compatBody) same(name string) *core.Error {
	if v := c.get(name); v != nil && v != c.id {
		return violation("%s in the body is not the one in the path", name)
	}
	return nil
}
