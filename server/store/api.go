package store

import (
	"errors"

	"signalbox/model/acop"
)

// ErrConflict means that somebody else changed the target first: read it again
// and decide anew. It is never shown to a person.
var ErrConflict = errors.New("the target changed in the meantime")

// ErrUnavailable means that the log cannot take a write just now.
var ErrUnavailable = errors.New("the log cannot take a write now")

// ErrTooLarge means that a record has more bytes than the log ever takes. Nothing
// was written, and a retry comes to the same end.
var ErrTooLarge = errors.New("the record is too large for the log")

// Kind says what a record is about; each kind has its own subjects.
type Kind string

// The kinds of record.
const (
	KindItem     Kind = "item"
	KindEntry    Kind = "entry"
	KindSettings Kind = "settings"
	KindAudit    Kind = "audit" // a refused act: changes nothing, is remembered
)

// Record is one message of the log: the whole new state of one object together
// with what the change means to others. One request is one record, unless it
// must change several objects at once.
type Record struct {
	ProtocolVersion string    `json:"protocol_version"` // D-27
	Kind            Kind      `json:"kind"`
	ID              string    `json:"id"` // work_item_id, entry_id; opaque
	AtUTC           acop.Time `json:"at_utc"`

	Item     *acop.Item            `json:"item,omitempty"`
	Entry    *acop.BlackboardEntry `json:"entry,omitempty"`
	Settings *acop.Settings        `json:"settings,omitempty"`
	// Ended is the claim that this change ended; it never changes again.
	Ended *acop.Claim `json:"ended,omitempty"`
	// Events tell the change in order; the store fills Revision, Index and Last
	// and attaches the objects (Item, Entry, Settings) where they are nil.
	Events []acop.Event `json:"events"`
	// Idem is the idempotency record written in the same message.
	Idem *Idempotency `json:"idem,omitempty"`
}

// Idempotency remembers the answer to a request with an Idempotency-Key for at
// least 24 h (H-014, D-56).
type Idempotency struct {
	// Scope is a hash over identity, method, path and key.
	Scope string `json:"scope"`
	// Fingerprint is a hash over the canonical body.
	Fingerprint string            `json:"fingerprint"`
	Status      int               `json:"status"` // HTTP status
	Header      map[string]string `json:"header,omitempty"`
	// Body is the answer without its revision, which is only known once the
	// record has been written; the store's revision of the record goes with it.
	Body []byte `json:"body"`
}

// Change is a record with the condition under which it may be written.
type Change struct {
	// Expected is the revision of the last record on the same subject that the
	// decision was based on; 0 means that there must be none.
	Expected uint64
	Record   Record
}
