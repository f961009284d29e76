// Package schema carries the JSON Schemas of ACOP core, as published. It holds
// nothing else: who validates with them, and how strictly, is not its business.
package schema
