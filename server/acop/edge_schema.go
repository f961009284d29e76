package acop

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	core "signalbox/model/acop"
	"signalbox/model/acop/schema"
)

//go:embed bodies.schema.json
var bodiesSchema []byte

const bodiesID = "https://signalbox.invalid/bodies.schema.json"

// schemas compiles everything once; a schema that does not compile is a fault of
// the program and is found by the first test.
var schemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat() // else any string is a date-time (B75)
	c.UseLoader(noLoader{})
	for id, raw := range map[string][]byte{schema.CoreID: schema.Core, bodiesID: bodiesSchema} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			panic(err)
		}
		if err := c.AddResource(id, doc); err != nil {
			panic(err)
		}
	}
	out := map[string]*jsonschema.Schema{
		"put":   c.MustCompile(schema.CoreID),
		"claim": c.MustCompile(schema.CoreID + "#/$defs/claim_intent"),
		"post":  c.MustCompile(schema.CoreID + "#/$defs/blackboard_entry"),
	}
	for _, name := range []string{"renew", "release", "complete", "heartbeat", "revoke", "accept", "cancel", "supersede", "send_back",
		"block", "unblock", "resolve", "note", "grant", "deny", "settings"} {
		out[name] = c.MustCompile(bodiesID + "#/$defs/" + name)
	}
	return out
})

// noLoader refuses references to anything that is not built in (B104).
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references are not followed")
}

// schemaError is a refused body; onlyUnknown tells that nothing but unknown
// members was wrong with it, which matters for a newer minor version (D-26).
type schemaError struct {
	text        string
	onlyUnknown bool
}

// validate checks the members of a body against the schema of its verb.
func validate(name string, members map[string]any) *schemaError {
	err := schemas()[name].Validate(members)
	if err == nil {
		return nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return &schemaError{text: "the body does not fit its schema"}
	}
	var texts []string
	unknown := true
	leaves(ve, func(l *jsonschema.ValidationError) {
		if _, extra := l.ErrorKind.(*kind.AdditionalProperties); !extra {
			unknown = false
		}
		if len(texts) < 3 {
			texts = append(texts, at(l.InstanceLocation)+explain(l.ErrorKind))
		}
	})
	return &schemaError{text: strings.Join(texts, "; "), onlyUnknown: unknown}
}

func leaves(e *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		visit(e)
		return
	}
	for _, c := range e.Causes {
		leaves(c, visit)
	}
}

func at(loc []string) string {
	if len(loc) == 0 {
		return ""
	}
	return clip(strings.Join(loc, "."), 80) + ": "
}

// explain says what is wrong in plain words and quotes names only, never values
// (B105).
func explain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "missing " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		names := make([]string, 0, len(k.Properties))
		for _, p := range k.Properties[:min(len(k.Properties), 5)] {
			names = append(names, clip(p, 40))
		}
		return "unknown member " + strings.Join(names, ", ")
	case *kind.Type:
		return fmt.Sprintf("is %s, not %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return "is none of " + strings.Trim(fmt.Sprint(k.Want), "[]")
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want)
	case *kind.Format:
		return "is not a " + k.Want
	case *kind.Minimum:
		return "is less than " + k.Want.RatString()
	case *kind.Maximum:
		return "is more than " + k.Want.RatString()
	case *kind.Pattern, *kind.MinLength:
		return "is empty"
	case *kind.MaxItems:
		return fmt.Sprintf("has more than %d elements", k.Want)
	}
	return "does not fit its schema"
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func violation(format string, args ...any) *core.Error {
	return core.Errorf(core.CodeSchemaViolation, format, args...)
}
