// Package store keeps the owner's truth: one log of records on an embedded NATS
// JetStream stream, and the in-memory projection that follows it.
//
// The position of a record in the log is the revision. A write names the
// revision its decision was based on; the log refuses it when somebody else was
// first, and that check is the mutual exclusion of the whole owner.
package store
