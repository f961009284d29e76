package acop

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	core "signalbox/model/acop"
	"signalbox/model/acop/schema"
)

// object is a JSON object of the API's description.
type object = map[string]any

// openAPI is the description of the API (OpenAPI 3.1) for one base path. It is
// made of the same routes and schemas by which requests are judged, and the
// tests hold every real answer against it.
func openAPI(base string) []byte {
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Signalbox owner", "version": "1.0.0",
			"summary":     "The ACOP HTTP+JSON binding with the verbs and reads of a lead.",
			"description": openAPIWords,
		},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"servers":           []any{object{"url": base}},
		"security":          []any{object{"bearer": []any{}}},
		"paths":             openAPIPaths(),
		"components": object{
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}},
			"schemas":         openAPISchemas(),
		},
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // made of plain values only
	}
	return b
}

const openAPIWords = "Every body carries protocol_version, every refusal has one shape with a code. " +
	"Ids are opaque: percent-encode them as one path segment. Times are UTC with Z. " +
	"Mutating requests take Idempotency-Key, and If-Match with the revision that was seen."

// openAPIDocument is made once for each base path.
func (s *Server) openAPIDocument() []byte {
	s.describe.Do(func() { s.description = openAPI(s.base) })
	return s.description
}

func openAPIPaths() object {
	paths := object{}
	for _, op := range operations {
		path := "/" + op.path
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(op.method)] = op.describe()
	}
	own := []any{object{"url": "/"}}
	for path, o := range map[string]object{
		"/healthz":      describePage("Whether the owner lives", "application/json", ref("Health")),
		"/readyz":       describePage("Whether the owner takes requests", "application/json", ref("Health")),
		"/metrics":      describePage("Counters and gauges in the Prometheus text format", "text/plain", object{"type": "string"}),
		"/openapi.json": describePage("This description", "application/json", object{"type": "object"}),
	} {
		paths[path] = object{"servers": own, "get": o}
	}
	return paths
}

func describePage(summary, media string, s object) object {
	return object{
		"summary": summary, "security": []any{}, "tags": []any{"operation"},
		"responses": object{"200": object{"description": "as asked", "content": object{media: object{"schema": s}}}, "default": refusedResponse()},
	}
}

// describe is one operation object.
func (op *operation) describe() object {
	o := object{"summary": op.summary, "operationId": op.id(), "tags": []any{op.tag()}}
	var params []any
	if strings.Contains(op.path, wildcard) {
		params = append(params, object{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"},
			"description": "opaque id, percent-encoded as one segment"})
	}
	for _, q := range op.query {
		params = append(params, describeQuery(q))
	}
	if op.body != nil {
		for _, h := range []string{"Idempotency-Key", "If-Match"} {
			params = append(params, object{"name": h, "in": "header", "schema": object{"type": "string", "minLength": 1}})
		}
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": op.body}}}
	}
	if len(params) > 0 {
		o["parameters"] = params
	}
	media := "application/json"
	if op.path == "events" {
		media = "text/event-stream"
	}
	responses := object{"default": refusedResponse()}
	for _, status := range op.status {
		answer := object{"description": http.StatusText(status), "content": object{media: object{"schema": op.answer}}}
		headers := object{}
		for _, h := range op.headers {
			headers[h] = object{"schema": object{"type": "string"}, "required": true}
		}
		if op.body != nil {
			headers["Idempotency-Replayed"] = object{"schema": object{"const": "true"}, "description": "the answer was given before"}
		}
		if len(headers) > 0 {
			answer["headers"] = headers
		}
		responses[strconv.Itoa(status)] = answer
	}
	o["responses"] = responses
	return o
}

func (op *operation) id() string {
	r := strings.NewReplacer("/"+wildcard, "", "/", "_", "-", "_")
	name := strings.ToLower(op.method) + "_" + r.Replace(op.path)
	if strings.HasSuffix(op.path, wildcard) {
		name += "_by_id"
	}
	return name
}

func (op *operation) tag() string {
	switch {
	case op.method == http.MethodGet:
		return "reads"
	case op.core:
		return "binding"
	}
	return "extension"
}

func describeQuery(spec string) object {
	name, list := strings.CutSuffix(spec, "[]")
	s := object{"type": "string"}
	switch name {
	case "limit", "newest", "since", "before", "after", "min_revision":
		s = object{"type": "integer", "minimum": 0}
	case "claimable", "actionable":
		s = object{"enum": []any{"1", "0", "true", "false"}}
	case "order":
		s = object{"enum": []any{"latest", "score", "priority"}}
	case "status":
		s = ref("status")
	}
	if list {
		s = object{"type": "array", "items": s}
	}
	return object{"name": name, "in": "query", "schema": s}
}

func refusedResponse() object {
	return object{
		"description": "refused; error.code says why",
		"headers":     object{"Retry-After": object{"schema": object{"type": "integer", "minimum": 1}}},
		"content":     object{"application/json": object{"schema": ref("Refusal")}},
	}
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// openAPISchemas are the core's own records, the bodies, and the answers as the
// owner's types say them.
func openAPISchemas() object {
	out := object{}
	for name, s := range schemaDefs(schema.Core) {
		out[name] = s
	}
	for name, s := range schemaDefs(bodiesSchema) {
		out["body_"+name] = s
	}
	errs := schemaDefs(schema.Errors)
	codes := []any{}
	for _, c := range core.Vocabulary() {
		codes = append(codes, string(c.Code))
	}
	errs["error"].(object)["properties"].(object)["code"] = object{"enum": codes}
	out["error"] = errs["error"]
	out["Refusal"] = object{"type": "object", "additionalProperties": false, "required": []any{"protocol_version", "error"},
		"properties": object{"protocol_version": versionSchema(), "error": ref("error")}}
	out["Health"] = object{"type": "object", "additionalProperties": false, "required": []any{"protocol_version", "status", "revision"},
		"properties": object{"protocol_version": versionSchema(), "status": object{"const": "ok"}, "revision": object{"type": "integer"}, "version": object{"type": "string"}}}
	maps.Copy(out, reflected())
	return out
}

func versionSchema() object { return object{"const": core.ProtocolVersion} }

// schemaDefs reads the $defs of an embedded schema and points its references
// at the description's own components.
func schemaDefs(raw []byte) object {
	text := string(raw)
	prefix := "#/components/schemas/"
	if &raw[0] == &bodiesSchema[0] {
		text = strings.ReplaceAll(text, schema.CoreID+"#/$defs/", "\x00")
		text = strings.ReplaceAll(text, "#/$defs/", prefix+"body_")
		text = strings.ReplaceAll(text, "\x00", prefix)
	}
	text = strings.ReplaceAll(text, "#/$defs/", prefix)
	var doc struct {
		Defs object `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		panic(err) // embedded
	}
	return doc.Defs
}

// bodyOf is the schema of a request body: the members of the verb's schema with
// protocol_version beside them.
func bodyOf(name string) object {
	return withVersion(schemaDefs(bodiesSchema)[name].(object))
}

func withVersion(s object, optional ...string) object {
	s = maps.Clone(s)
	props := object{"protocol_version": object{"type": "string", "pattern": "^acop/1\\.[0-9]+$"}}
	maps.Copy(props, s["properties"].(object))
	required := []any{"protocol_version"}
	list, _ := s["required"].([]any)
	for _, r := range list {
		if !slices.Contains(optional, r.(string)) {
			required = append(required, r)
		}
	}
	s["properties"], s["required"] = props, required
	return s
}

// flatOrNested is a record that may stand beside protocol_version or under a
// name of its own (D-25, D-45).
func flatOrNested(def, name string, optional ...string) object {
	record := schemaDefs(schema.Core)[def].(object)
	lax := withVersion(record, optional...)
	inner := maps.Clone(record)
	inner["required"] = slices.DeleteFunc(slices.Clone(record["required"].([]any)), func(r any) bool { return slices.Contains(optional, r.(string)) })
	nested := object{"type": "object", "additionalProperties": false, "properties": object{name: inner}, "required": []any{name}}
	return object{"oneOf": []any{lax, withVersion(nested)}}
}

// document is the whole core document with an open minor version.
var document = sync.OnceValue(func() object {
	props := object{"work_item": ref("work_item")}
	for _, n := range []string{"blocker", "operation", "artifact", "validation_requirement"} {
		props[n+"s"] = object{"type": "array", "items": ref(n)}
	}
	props["blackboard_entries"] = object{"type": "array", "items": ref("blackboard_entry")}
	return withVersion(object{"type": "object", "additionalProperties": false, "required": []any{"work_item"}, "properties": props})
})
