package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"signalbox/model/acop"
	"signalbox/model/acop/schema"
	"signalbox/model/text"
)

// documentSchema is the published schema of a document, compiled once. One that
// does not compile is a fault of the program that the first test finds.
var documentSchema = sync.OnceValue(func() *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat() // else any string is a time
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Core))
	if err == nil {
		err = c.AddResource(schema.CoreID, doc)
	}
	if err != nil {
		panic(err)
	}
	return c.MustCompile(schema.CoreID)
})

// maxFaults is how many faults of one document are told at once.
const maxFaults = 3

// fault is one thing that is wrong with a document.
type fault struct {
	path []string // in the complete document
	text string
}

// checkDocument holds a complete document against the schema and tells what is
// wrong with it by line. flat tells that the file holds the work item alone.
func checkDocument(s *source, doc map[string]any, flat bool) error {
	var faults []fault
	var ve *jsonschema.ValidationError
	switch err := documentSchema().Validate(doc); {
	case errors.As(err, &ve):
		schemaFaults(ve, &faults)
	case err != nil:
		return s.errorf(nil, "the document does not fit the schema of ACOP")
	default:
		badText(doc, nil, &faults)
	}
	if len(faults) == 0 {
		return nil
	}
	for i := range faults {
		if flat && len(faults[i].path) > 0 && faults[i].path[0] == "work_item" {
			faults[i].path = faults[i].path[1:]
		}
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return s.line(a.path) - s.line(b.path) })
	texts := make([]string, 0, maxFaults)
	for i, f := range faults[:min(len(faults), maxFaults)] {
		t := strings.TrimSpace(memberName(f.path) + " " + f.text)
		if at := s.line(f.path); i > 0 && at != s.line(faults[0].path) {
			t = fmt.Sprintf("line %d: %s", at, t)
		}
		texts = append(texts, t)
	}
	if more := len(faults) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return s.errorf(faults[0].path, "%s", strings.Join(texts, "; "))
}

// memberName writes a path as people do: blockers[0].severity.
func memberName(path []string) string {
	var b strings.Builder
	for _, p := range path {
		switch {
		case p != "" && strings.Trim(p, "0123456789") == "":
			b.WriteString("[" + p + "]")
		case b.Len() > 0:
			b.WriteString("." + text.ID(p))
		default:
			b.WriteString(text.ID(p))
		}
	}
	return text.Middle(b.String(), 80)
}

func schemaFaults(e *jsonschema.ValidationError, faults *[]fault) {
	for _, c := range e.Causes {
		schemaFaults(c, faults)
	}
	if len(e.Causes) > 0 {
		return
	}
	at := slices.Clone(e.InstanceLocation)
	if extra, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(extra.Properties)
		for _, p := range extra.Properties {
			*faults = append(*faults, fault{append(slices.Clone(at), p), "is an unknown member" + meant(at, p)})
		}
		return
	}
	*faults = append(*faults, fault{at, faultWords(e.ErrorKind)})
}

// meant proposes the member that an unknown one may stand for: one of the same
// letters but for two.
func meant(at []string, name string) string {
	known := []string{"work_item", "blockers", "operations", "artifacts", "validation_requirements", "blackboard_entries"}
	if len(at) > 0 {
		known = workItemMembers()
		if at[0] != "work_item" {
			return ""
		}
	}
	best, least := "", 3
	for _, k := range known {
		if d := distance(k, name); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of letters to add, drop or change between two words.
func distance(a, b string) int {
	if len(b) > 64 {
		return len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// workItemMembers are the names a work item may have.
var workItemMembers = sync.OnceValue(func() []string {
	var s struct {
		Defs map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schema.Core, &s); err != nil {
		panic(err)
	}
	var names []string
	for n := range s.Defs["work_item"].Properties {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
})

// faultWords says what a member must be, and what it is.
func faultWords(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "lacks " + strings.Join(k.Missing, ", ")
	case *kind.Type:
		want := make([]string, len(k.Want))
		for i, w := range k.Want {
			want[i] = typeWord(w)
		}
		return "must be " + strings.Join(want, " or ") + ", not " + typeWord(k.Got)
	case *kind.Enum:
		want := make([]string, len(k.Want))
		for i, w := range k.Want {
			want[i] = fmt.Sprint(w)
		}
		return "must be one of " + strings.Join(want, ", ") + ", not " + shown(k.Got)
	case *kind.Const:
		return fmt.Sprintf("must be %v, not %s", k.Want, shown(k.Got))
	case *kind.Format:
		return "must be a time in UTC like 2026-05-16T19:13:02.000Z, not " + shown(k.Got)
	case *kind.Minimum:
		return "must be at least " + rat(k.Want) + ", not " + rat(k.Got)
	case *kind.Maximum:
		return "must be at most " + rat(k.Want) + ", not " + rat(k.Got)
	}
	return "does not fit the schema of ACOP"
}

// typeWord names a JSON type for people.
func typeWord(t string) string {
	switch t {
	case "string":
		return "text"
	case "number":
		return "a number"
	case "integer":
		return "a whole number"
	case "boolean":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "a mapping"
	case "null":
		return "empty"
	}
	return text.ID(t)
}

// shown is a value short enough for a message.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return `"` + text.Clip(text.Line(v), 40) + `"`
	case nil:
		return "empty"
	case bool, json.Number, float64:
		return text.Clip(fmt.Sprint(v), 40)
	case []any:
		return "a list"
	}
	return "a mapping"
}

func rat(r *big.Rat) string {
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// badText finds what the schema lets through and the owner does not take: instants
// with offsets or lower case letters (D-54), and zero characters.
func badText(v any, path []string, faults *[]fault) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			at := append(slices.Clone(path), name)
			if s, isText := below.(string); isText && strings.HasSuffix(name, "_at_utc") {
				if _, err := acop.ParseTime(s); err != nil {
					*faults = append(*faults, fault{at, "must be a time in UTC like 2026-05-16T19:13:02.000Z, not " + shown(s)})
				}
				continue
			}
			badText(below, at, faults)
		}
	case string:
		if strings.ContainsRune(v, 0) {
			*faults = append(*faults, fault{path, "must be text without zero characters"})
		}
	case []any:
		for i, below := range v {
			badText(below, append(slices.Clone(path), fmt.Sprint(i)), faults)
		}
	}
}
