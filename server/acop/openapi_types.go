package acop

import (
	"reflect"
	"strings"
	"sync"

	core "signalbox/model/acop"
)

// records are the types that the core schema itself describes.
var records = map[reflect.Type]string{
	reflect.TypeFor[core.WorkItem]():              "work_item",
	reflect.TypeFor[core.Blocker]():               "blocker",
	reflect.TypeFor[core.Operation]():             "operation",
	reflect.TypeFor[core.Artifact]():              "artifact",
	reflect.TypeFor[core.ValidationRequirement](): "validation_requirement",
	reflect.TypeFor[core.BlackboardEntry]():       "blackboard_entry",
	reflect.TypeFor[core.ClaimIntent]():           "claim_intent",
	reflect.TypeFor[core.Claim]():                 "claim",
	reflect.TypeFor[core.LeaseHeartbeat]():        "lease_heartbeat",
	reflect.TypeFor[core.Status]():                "status",
	reflect.TypeFor[core.WorkKind]():              "work_kind",
	reflect.TypeFor[core.Priority]():              "priority",
}

// words are the closed vocabularies that the core schema does not know.
var words = map[reflect.Type][]any{
	reflect.TypeFor[core.Role]():        {"worker", "producer", "lead", "orchestrator", "reader"},
	reflect.TypeFor[core.GrantMode]():   {"auto", "lead", "rules"},
	reflect.TypeFor[core.IntentState](): {"waiting", "granted", "denied", "expired", "withdrawn"},
	reflect.TypeFor[core.Family](): {"work_offer", "work_update", "claim_intent", "claim_grant", "claim_release", "blocker_update", "artifact_update",
		"validation_update", "completion_notice", "supersession_notice", "blackboard", "lease_heartbeat", "settings"},
}

// reflector describes the owner's own types as components.
type reflector struct{ out object }

// reflected are the components of all answers.
var reflected = sync.OnceValue(func() object {
	r := reflector{out: object{}}
	for _, t := range []reflect.Type{
		reflect.TypeFor[core.Detail](), reflect.TypeFor[core.Snapshot](), reflect.TypeFor[row](), reflect.TypeFor[held](), reflect.TypeFor[agent](),
		reflect.TypeFor[core.Intent](), reflect.TypeFor[core.Settings](), reflect.TypeFor[core.Posted](), reflect.TypeFor[core.Event](),
	} {
		r.of(t)
	}
	return r.out
})

// of is the schema of a type.
func (r reflector) of(t reflect.Type) object {
	if name, known := records[t]; known {
		return ref(name)
	}
	if list, known := words[t]; known {
		return object{"enum": list}
	}
	if t == reflect.TypeFor[core.Time]() {
		return object{"type": "string", "format": "date-time", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.of(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": r.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": r.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct:
		return r.component(t)
	}
	return object{"type": "integer", "minimum": 0}
}

// component describes a struct once, under its own name.
func (r reflector) component(t reflect.Type) object {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, done := r.out[name]; done {
		return ref(name)
	}
	s := object{"type": "object", "additionalProperties": false}
	r.out[name] = s // before its fields: they may point back
	props, required := object{}, []any{}
	for f := range t.Fields() {
		member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || member == "-" || member == "" {
			continue
		}
		props[member] = r.of(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, member)
		}
	}
	s["properties"], s["required"] = props, required
	return ref(name)
}

// members describes an answer that has some members of the answer type, each of
// them always.
func members(names ...string) object {
	r := reflector{out: object{}}
	props := object{"revision": object{"type": "integer", "minimum": 0}}
	for f := range reflect.TypeFor[answer]().Fields() {
		if member, _, _ := strings.Cut(f.Tag.Get("json"), ","); member != "" {
			props[member] = r.of(f.Type)
		}
	}
	props["protocol_version"] = versionSchema()
	out, required := object{}, []any{}
	for _, n := range append([]string{"protocol_version", "revision"}, names...) {
		name, optional := strings.CutSuffix(n, "?")
		out[name] = props[name]
		if !optional {
			required = append(required, name)
		}
	}
	return object{"type": "object", "additionalProperties": false, "properties": out, "required": required}
}

// list describes a read's answer: a revision and one member of its own.
func list(name string, of reflect.Type, more object) object {
	r := reflector{out: object{}}
	props := object{"protocol_version": versionSchema(), "revision": object{"type": "integer", "minimum": 0}, name: r.of(of)}
	required := []any{"protocol_version", "revision", name}
	for k, v := range more {
		props[k] = v
	}
	return object{"type": "object", "additionalProperties": false, "properties": props, "required": required}
}
