package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"signalbox/model/acop"
)

// aged is a record's place and time.
type aged struct {
	seq   uint64
	at    time.Time
	start bool // an act begins here
}

// findTail finds the first revision whose history is kept: the first act that
// is young enough, after everything that was ever lost, and the last act at the
// latest, so that the log keeps its end.
func (c *compaction) findTail(ctx context.Context) (uint64, error) {
	f, cutoff := c.found, c.old.now().Add(-c.keep)
	after := c.lastLoss()
	var tail, lastStart uint64
	err := forBlocks(ctx, c.blocks, blockFile.ages, func(_ int, records []aged) {
		for _, r := range records {
			if r.seq < f.gen.Tail || !r.start || r.seq <= after || r.seq > f.last {
				continue
			}
			lastStart = r.seq
			if tail == 0 && !r.at.Before(cutoff) {
				tail = r.seq
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case tail > 0:
		return tail, nil
	case lastStart > 0:
		return lastStart, nil
	case f.last < f.gen.First:
		return 0, errors.New("the log is empty; there is nothing to compact")
	}
	return 0, fmt.Errorf("nothing was written since records were lost up to revision %d; write something first", after)
}

// lastLoss is the last place that was accepted as lost; history begins after it.
func (c *compaction) lastLoss() uint64 {
	last := uint64(0)
	for _, x := range c.old.lost.list {
		for _, r := range x.Missing {
			last = max(last, r.To)
		}
		for _, rev := range x.Broken {
			last = max(last, rev)
		}
	}
	return last
}

// ages reads when the records of a block were written, by the owner's clock.
func (f blockFile) ages() ([]aged, error) {
	var out []aged
	err := f.each(func(m message) error {
		at, err := timeOf(m.payload)
		if err != nil {
			return fmt.Errorf("decode the record at revision %d: %w", m.seq, err)
		}
		out = append(out, aged{seq: m.seq, at: at, start: m.seal.part.i <= 1 && m.seal.kept.rev == 0})
		return nil
	})
	return out, err
}

// timeOf reads the time of a record and stops there: it stands before all that
// is large.
func timeOf(payload []byte) (time.Time, error) {
	d := json.NewDecoder(bytes.NewReader(payload))
	for depth, name := 0, ""; ; {
		tok, err := d.Token()
		if err != nil {
			return time.Time{}, err
		}
		switch v := tok.(type) {
		case json.Delim:
			if depth++; v == '}' || v == ']' {
				depth -= 2
			}
			name = ""
		case string:
			if depth != 1 || name == "" {
				name = v
				continue
			}
			if name == "at_utc" {
				var at acop.Time
				err := at.UnmarshalText([]byte(v))
				return at.Std(), err
			}
			name = ""
		default:
			name = ""
		}
	}
}

// each walks the messages of a block; their payloads are lent for the call.
func (f blockFile) each(take func(message) error) error {
	var failed error
	err := f.with(func(buf []byte) error {
		return f.sealed(buf, func(m sealed) {
			if failed == nil {
				failed = take(m.msg)
			}
		})
	})
	return errors.Join(err, failed)
}

// pick chooses the older records that are kept: the present state of each
// object, answers that must still be given again, and what open items may be
// asked about: their ended claims and their requests.
func (c *compaction) pick(ctx context.Context, tail uint64) error {
	c.step("pick")
	c.bridge = map[string]bool{}
	return forBlocks(ctx, c.blocks, func(b blockFile) ([]message, error) {
		var out []message
		err := b.each(func(m message) error {
			m.payload = nil
			out = append(out, m)
			return nil
		})
		return out, err
	}, func(_ int, ms []message) {
		for i := range ms {
			switch m := &ms[i]; {
			case m.seq >= tail:
				if m.seal.link.rev < tail && m.seal.link.rev > 0 {
					c.bridge[m.seal.link.String()] = true
				}
			case c.keeps(m):
				c.picked = append(c.picked, m.seq)
			}
		}
	})
}

func (c *compaction) keeps(m *message) bool {
	if m.subject == generationSubject || strings.HasPrefix(m.subject, subjectRoot+string(KindAudit)) ||
		c.old.lost.isBroken(m.seq) || c.old.lost.isMissing(m.seq) {
		return false
	}
	p, x := c.found.places[m.subject], m.seal.index
	return p != nil && p.good == m.seq ||
		x.IdemAt > 0 && !time.UnixMilli(x.IdemAt).Before(c.found.since) ||
		x.Ended != nil && c.alive(x.Ended.WorkItemID) ||
		len(x.Intents) > 0 && c.alive(x.Item)
}

// alive reports whether an item can still change.
func (c *compaction) alive(id string) bool {
	it, ok := c.old.p.items[id]
	return ok && !it.WorkItem.Status.Terminal()
}
