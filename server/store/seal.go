package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"signalbox/model/acop"
)

// Headers of a message. They are covered by the seal.
const (
	headerSum   = "Sb-Sum"   // hex SHA-256 over everything below, the subject and the payload
	headerLink  = "Sb-Link"  // "<revision> <sum>" of the newest record the writer had seen
	headerPart  = "Sb-Part"  // place in an act of several records; absent: the record is the act
	headerIndex = "Sb-Index" // what a start must know without reading the payload
	headerKept  = "Sb-Kept"  // "<revision> <act's revision>" that a record had in the log it was kept from
)

// sum is the checksum of a message.
type sum [sha256.Size]byte

func (s sum) String() string { return hex.EncodeToString(s[:]) }

// link ties a message to an earlier one. It names the newest record that the
// writer had applied, which is the one before it unless other writes were under
// way at the same moment or the record is one of several of an act. So every
// link points backwards, and a block from elsewhere, or one that was rewritten,
// does not fit to the links that lead into it.
type link struct {
	rev uint64 // 0: the log was empty
	sum sum
}

// part is the place of a record in an act of several.
type part struct {
	i, n     int // this is record i of n, counted from 1
	off, all int // its first event is number off of all the act's events
}

// index holds what must be found again after a restart although the record is
// not the last one of its subject: reading these few bytes saves decoding the
// whole log.
type index struct {
	Ended   *acop.Claim `json:"e,omitempty"` // the claim this record ended
	Intents []string    `json:"i,omitempty"` // claim intents seen first here
	Item    string      `json:"w,omitempty"` // the item that Intents belong to
	IdemAt  int64       `json:"k,omitempty"` // Unix milliseconds; the record holds an Idempotency
}

func (x index) empty() bool { return x.Ended == nil && len(x.Intents) == 0 && x.IdemAt == 0 }

// kept is what a record that outlived a compaction was: it stands at another
// place in the log now, and people still know it by its old revision.
type kept struct {
	rev uint64 // of the record; 0 = the record was not kept from elsewhere
	act uint64 // of the act it was a part of
}

// seal is the decoded and checked header of a message.
type seal struct {
	sum   sum
	link  link
	part  part // n == 0: the record is the whole act
	kept  kept
	index index
}

var errSeal = errors.New("checksum does not fit")

func (l link) String() string { return strconv.FormatUint(l.rev, 10) + " " + l.sum.String() }

// heads are the headers of a message that are ours.
type heads struct{ sum, link, part, index, kept string }

func headsOf(h nats.Header) heads {
	return heads{
		sum: h.Get(headerSum), link: h.Get(headerLink), part: h.Get(headerPart),
		index: h.Get(headerIndex), kept: h.Get(headerKept),
	}
}

// message makes a message with these headers and no others.
func (h heads) message(subj string, payload []byte) *nats.Msg {
	m := &nats.Msg{Subject: subj, Data: payload, Header: make(nats.Header, 4)}
	for _, x := range [...]struct{ name, v string }{
		{headerSum, h.sum}, {headerLink, h.link}, {headerPart, h.part}, {headerIndex, h.index}, {headerKept, h.kept},
	} {
		if x.v != "" {
			m.Header[x.name] = []string{x.v}
		}
	}
	return m
}

// newMessage makes the sealed message of one record.
func newMessage(subj string, payload []byte, l link, p part, x index) (*nats.Msg, seal, error) {
	h := heads{link: l.String()}
	if p.n > 0 {
		h.part = fmt.Sprintf("%d %d %d %d", p.i, p.n, p.off, p.all)
	}
	if !x.empty() {
		b, err := encode(x)
		if err != nil {
			return nil, seal{}, fmt.Errorf("encode record index: %w", err)
		}
		// Ids may hold any character; a header may not.
		h.index = base64.RawURLEncoding.EncodeToString(b)
	}
	sl := seal{sum: h.sumWith(subj, payload), link: l, part: p, index: x}
	h.sum = sl.sum.String()
	return h.message(subj, payload), sl, nil
}

// sumWith hashes everything that must not change, each part with its length, so
// that no byte can move from one part into the next.
func (h *heads) sumWith(subj string, payload []byte) sum {
	var room [1024]byte
	buf := room[:0]
	put := func(s string) {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	if h.kept == "" {
		put("signalbox 1")
	} else {
		put("signalbox 1 kept")
	}
	put(subj)
	put(h.link)
	put(h.part)
	put(h.index)
	if h.kept != "" {
		put(h.kept)
	}
	d := sha256.New()
	d.Write(buf)
	d.Write(payload)
	var out sum
	d.Sum(out[:0])
	return out
}

// openSeal checks a message against its seal and decodes the headers.
func openSeal(subj string, h heads, payload []byte) (seal, error) {
	var s seal
	if !s.sum.parse(h.sum) || s.sum != h.sumWith(subj, payload) {
		return seal{}, errSeal
	}
	err := s.read(h)
	return s, err
}

// read decodes the headers of a message whose seal holds: they are what this
// program wrote, and what does not parse was written by another version.
func (s *seal) read(h heads) error {
	if !s.link.parse(h.link) {
		return fmt.Errorf("unknown form of link %q", h.link)
	}
	if h.part != "" {
		if _, err := fmt.Sscanf(h.part, "%d %d %d %d", &s.part.i, &s.part.n, &s.part.off, &s.part.all); err != nil {
			return fmt.Errorf("unknown form of part %q", h.part)
		}
	}
	if h.kept != "" {
		if _, err := fmt.Sscanf(h.kept, "%d %d", &s.kept.rev, &s.kept.act); err != nil || s.kept.rev == 0 {
			return fmt.Errorf("unknown form of kept %q", h.kept)
		}
	}
	if h.index == "" {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(h.index)
	if err == nil {
		err = decodeInto(b, &s.index)
	}
	if err != nil {
		return fmt.Errorf("unknown form of index: %w", err)
	}
	return nil
}

func (l *link) parse(text string) bool {
	rev, hash, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(rev, 10, 64)
	l.rev = n
	return err == nil && l.sum.parse(hash)
}

func (s *sum) parse(text string) bool {
	var room [2 * len(s)]byte // no allocation: a start parses millions
	if len(text) != len(room) {
		return false
	}
	copy(room[:], text)
	_, err := hex.Decode(s[:], room[:])
	return err == nil
}
