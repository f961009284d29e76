package acop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const described = "https://signalbox.invalid/openapi.json"

// description is the API's description, ready to hold answers against.
var description = sync.OnceValues(func() (map[string]any, *jsonschema.Compiler) {
	raw := openAPI(DefaultBasePath)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(described, doc); err != nil {
		panic(err)
	}
	return doc.(map[string]any), c
})

var (
	compiledMu sync.Mutex
	compiled   = make(map[string]*jsonschema.Schema)
)

// answerSchema compiles the schema of one answer, named by JSON pointer parts.
func answerSchema(parts ...string) (*jsonschema.Schema, error) {
	pointer := "#"
	for _, p := range parts {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(p)
	}
	compiledMu.Lock()
	defer compiledMu.Unlock()
	if s := compiled[pointer]; s != nil {
		return s, nil
	}
	_, c := description()
	s, err := c.Compile(described + pointer)
	if err == nil {
		compiled[pointer] = s
	}
	return s, err
}

// described holds a real answer against the API's description: its status must
// be told there, the promised headers be given, the body fit.
func (b *box) described(method, path string, r reply) error {
	path, _, _ = strings.Cut(path, "?")
	segs := strings.Split(path, "/")
	name := ""
	for i := range routes {
		if routes[i].matches(segs) {
			name = "/" + routes[i].name
			break
		}
	}
	doc, _ := description()
	methods, _ := doc["paths"].(m)[name].(m)
	op, known := methods[strings.ToLower(method)].(m)
	if name == "" || !known || b.opts.BasePath != "" {
		return nil // not an operation: the refusal was checked already
	}
	status := strconv.Itoa(r.status)
	answer, told := op["responses"].(m)[status].(m)
	switch {
	case !told && r.status < 400:
		return fmt.Errorf("the description does not know status %s", status)
	case !told:
		status, answer = "default", op["responses"].(m)["default"].(m)
	}
	headers, _ := answer["headers"].(m)
	for h, spec := range headers {
		if spec.(m)["required"] == true && r.header.Get(h) == "" {
			return fmt.Errorf("the promised header %s is missing", h)
		}
	}
	s, err := answerSchema("paths", name, strings.ToLower(method), "responses", status, "content", "application/json", "schema")
	if err != nil {
		return err
	}
	return s.Validate(r.body)
}

// TestDescription covers every route with every method, points nowhere that is
// not there, and is served without a credential (H-086, H-088, H-089).
func TestDescription(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	resp, err := http.Get(b.http.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc m
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatal(resp.Status, err)
	}
	if v, _ := doc["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("version %v", doc["openapi"])
	}
	paths := doc["paths"].(m)
	var ids []string
	for _, rt := range routes {
		for method := range rt.methods {
			op, told := paths["/"+rt.name].(m)[strings.ToLower(method)].(m)
			if !told {
				t.Errorf("%s %s is not described", method, rt.name)
				continue
			}
			ids = append(ids, op["operationId"].(string))
		}
	}
	if len(ids) != len(operations) {
		t.Errorf("%d operations described, %d served", len(operations), len(ids))
	}
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
		t.Errorf("operation ids are not unique: %v", ids)
	}
	if b.described("GET", "snapshot", reply{status: 200, header: http.Header{"Etag": {"x"}}, body: m{"protocol_version": "acop/1.0"}}) == nil {
		t.Error("answers are not held against the description")
	}
	refs(doc, func(ref string) {
		at := any(doc)
		for _, p := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			next, _ := at.(m)
			at = next[p]
		}
		if at == nil {
			t.Errorf("%s points nowhere", ref)
		}
	})
	for _, op := range operations { // every request schema compiles
		if op.body != nil {
			if _, err := answerSchema("paths", "/"+op.path, strings.ToLower(op.method), "requestBody", "content", "application/json", "schema"); err != nil {
				t.Error(err)
			}
		}
	}
}

func refs(v any, visit func(string)) {
	switch v := v.(type) {
	case m:
		if r, isRef := v["$ref"].(string); isRef {
			visit(r)
		}
		for _, e := range v {
			refs(e, visit)
		}
	case []any:
		for _, e := range v {
			refs(e, visit)
		}
	}
}
