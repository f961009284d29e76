package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	infer "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"signalbox/model/acop"
)

// enums are the closed sets of the model, by type: the schemas name what the
// owner takes, from the same lists that its edge judges by.
var enums = map[reflect.Type]*infer.Schema{
	reflect.TypeFor[acop.Status]():      enum(acop.Statuses()),
	reflect.TypeFor[acop.WorkKind]():    enum(acop.WorkKinds()),
	reflect.TypeFor[acop.Priority]():    enum(acop.Priorities()),
	reflect.TypeFor[acop.Severity]():    enum(acop.Severities()),
	reflect.TypeFor[acop.ClaimStatus](): enum(acop.ClaimStatuses()),
	reflect.TypeFor[acop.EntryKind]():   enum(acop.EntryKinds()),
	reflect.TypeFor[acop.EntryStatus](): enum(acop.EntryStatuses()),
	reflect.TypeFor[acop.Readiness]():   enum([]acop.Readiness{acop.ReadinessReady, acop.ReadinessContingent, acop.ReadinessBlocked}),
	reflect.TypeFor[action]():           enum(actions),
	reflect.TypeFor[order]():            enum(orders),
	reflect.TypeFor[startStatus]():      enum(startStatuses),
	reflect.TypeFor[acop.Time]():        {Type: "string"},
	reflect.TypeFor[seconds]():          {Type: "integer", Minimum: new(1.0), Maximum: new(float64(1 << 31))},
	reflect.TypeFor[score]():            {Type: "number", Minimum: new(0.0), Maximum: new(1.0)},
	reflect.TypeFor[needed]():           {Type: "string", Pattern: `\S`},
	reflect.TypeFor[offset]():           {Type: "integer", Minimum: new(0.0), Maximum: new(float64(1 << 31))},
	reflect.TypeFor[limit]():            {Type: "integer", Minimum: new(1.0), Maximum: new(float64(mostRows))},
}

func enum[T ~string](values []T) *infer.Schema {
	s := &infer.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// schemaOf describes a type for a model. It panics on a type that has no schema,
// which the first test finds.
func schemaOf(t reflect.Type) *infer.Schema {
	s, err := infer.ForType(t, &infer.ForOptions{TypeSchemas: enums})
	if err != nil {
		panic(fmt.Sprintf("the schema of %v: %v", t, err))
	}
	return s
}

// inputOf is schemaOf without "null" among the types: what is absent is left out.
func inputOf(t reflect.Type) *infer.Schema {
	s := schemaOf(t)
	withoutNull(s)
	return s
}

func withoutNull(s *infer.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	withoutNull(s.Items)
	for _, p := range s.Properties {
		withoutNull(p)
	}
}

// compile makes the validator of an input schema.
func compile(name string, s *infer.Schema) *jsonschema.Schema {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mcp:"+name, doc); err != nil {
		panic(err)
	}
	return c.MustCompile("mcp:" + name)
}

// maxArguments bounds the arguments of one call in bytes, as the edge bounds a body.
const maxArguments = 1 << 20

// decode reads the arguments of a tool into v. It takes what the HTTP edge takes:
// valid UTF-8, no name twice in one object (B67), no unknown name, the right types.
func decode(schema *jsonschema.Schema, raw json.RawMessage, v any) *acop.Error {
	if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxArguments {
		return acop.Errorf(acop.CodeTooLarge, "the arguments are larger than %d bytes", maxArguments)
	}
	var whole jsontext.Value
	if err := strict.Unmarshal(raw, &whole); err != nil {
		return badArguments("%s", syntax(err))
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return badArguments("the arguments are not valid JSON")
	}
	if nul(doc) {
		return badArguments("text with a NUL character is not accepted")
	}
	if err := schema.Validate(doc); err != nil {
		return badArguments("%s", unfit(err))
	}
	if err := strict.Unmarshal(raw, v); err != nil {
		return badArguments("%s", syntax(err))
	}
	return nil
}

func badArguments(format string, args ...any) *acop.Error {
	return acop.Errorf(acop.CodeSchemaViolation, format, args...)
}

// syntax names a fault in the JSON without quoting it.
func syntax(err error) string {
	var se *strict.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a name occurs twice in one object of the arguments"
	case errors.As(err, &se) && se.JSONPointer != "":
		return strings.ReplaceAll(strings.Trim(string(se.JSONPointer), "/"), "/", ".") + " has a form that is not accepted"
	}
	return "the arguments are not valid JSON in UTF-8"
}

// nul tells whether any text in a decoded document holds a NUL.
func nul(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, nul)
	case map[string]any:
		for _, e := range v {
			if nul(e) {
				return true
			}
		}
	}
	return false
}

// unfit says what does not fit the schema, the first three things at most.
func unfit(err error) string {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return "the arguments do not fit the tool's schema"
	}
	var texts []string
	leaves(ve, func(l *jsonschema.ValidationError) {
		where := ""
		if len(l.InstanceLocation) > 0 {
			where = clip(strings.Join(l.InstanceLocation, "."), 80) + ": "
		}
		texts = append(texts, where+explain(l.ErrorKind))
	})
	return strings.Join(texts[:min(3, len(texts))], "; ")
}

func leaves(e *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		visit(e)
	}
	for _, c := range e.Causes {
		leaves(c, visit)
	}
}

// explain says what is wrong in plain words; it quotes names, never values.
func explain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "missing " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		names := make([]string, 0, 5)
		for _, p := range k.Properties[:min(len(k.Properties), 5)] {
			names = append(names, clip(p, 40))
		}
		return "unknown argument " + strings.Join(names, ", ")
	case *kind.Type:
		return fmt.Sprintf("is %s, not %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		words := make([]string, len(k.Want))
		for i, w := range k.Want {
			words[i] = fmt.Sprint(w)
		}
		return "must be one of " + strings.Join(words, ", ")
	case *kind.Minimum:
		return "is less than " + k.Want.RatString()
	case *kind.Maximum:
		return "is more than " + k.Want.RatString()
	case *kind.Pattern:
		return "is empty"
	}
	return "does not fit the tool's schema"
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
