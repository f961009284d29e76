package schema

import _ "embed"

// The ids under which the schemas refer to each other.
const (
	CoreID   = "https://acop.dev/schemas/v1.0/acop.schema.json"
	ErrorsID = "https://acop.dev/schemas/v1.0/acop-errors.schema.json"
)

// Core is the work-coordination schema (draft 2020-12).
//
//go:embed acop.schema.json
var Core []byte

// Errors is the schema of error answers (draft 2020-12).
//
//go:embed acop-errors.schema.json
var Errors []byte
