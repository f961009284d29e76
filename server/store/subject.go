package store

import (
	"crypto/sha256"
	"encoding/base64"
)

const (
	streamName  = "SIGNALBOX"
	subjectRoot = "sb."
)

// token turns an opaque id of any length and any characters into one subject
// token. The id itself stands in the record.
func token(id string) string {
	h := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// subject names the place of an object in the log: its last message is the
// object's present state. Settings are one object and have one subject.
func subject(k Kind, id string) string {
	if k == KindSettings {
		return subjectRoot + string(KindSettings)
	}
	return subjectRoot + string(k) + "." + token(id)
}

// subjectOf is the subject of a record. Audit records stand beside the item
// they are about, whatever their own id, so that its history finds them.
func subjectOf(r *Record) string {
	id := r.ID
	if r.Kind == KindAudit && len(r.Events) > 0 && r.Events[0].WorkItemID != "" {
		id = r.Events[0].WorkItemID
	}
	return subject(r.Kind, id)
}
