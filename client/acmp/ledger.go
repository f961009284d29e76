package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"signalbox/model/acmp"
)

// ledgerLine is one outcome in the cost ledger.
type ledgerLine struct {
	At         time.Time    `json:"at_utc"`
	TaskID     string       `json:"task_id"`
	Provider   string       `json:"provider"`
	Capability string       `json:"capability"`
	Outcome    string       `json:"outcome"` // result or error; or seen: a person took note of it
	Code       int          `json:"code,omitempty"`
	Message    string       `json:"message,omitempty"` // of the error, its head
	Detail     string       `json:"detail,omitempty"`  // of the error, its first line and its last ones
	Local      bool         `json:"local,omitempty"`
	CeilingCU  *json.Number `json:"ceiling_cu,omitempty"`
	CostCU     json.Number  `json:"cost_cu,omitempty"`
	Overcharge json.Number  `json:"overcharge_cu,omitempty"`
	Tokens     int64        `json:"tokens_used,omitempty"`
	ProofCheck string       `json:"proof_check,omitempty"`
	By         string       `json:"by,omitempty"`   // the program and process that ran it
	Told       bool         `json:"told,omitempty"` // who started that was shown the outcome
}

// account adds the outcome of a task to the ledger, durably: the journal of the
// task goes after it.
func (d *disk) account(inv acmp.Invocation, ev acmp.TaskEvent) {
	if d == nil {
		return
	}
	line := ledgerLine{
		At: ev.At.UTC(), TaskID: ev.TaskID, Provider: inv.Provider, Capability: inv.Params.Capability,
		Outcome: string(ev.Kind), CeilingCU: inv.Params.MaxPriceCU, Overcharge: ev.Overcharge,
		ProofCheck: ev.ProofCheck, By: d.by, Told: d.told,
	}
	if ev.Result != nil {
		line.CostCU, line.Tokens = ev.Result.CostCU, ev.Result.TokensUsed
	}
	if ev.Err != nil {
		line.Code, line.Local = ev.Err.Code, ev.Err.Local
		line.Message = strings.ToValidUTF8(ev.Err.Message[:min(len(ev.Err.Message), ledgerMessage)], "")
		line.Detail = ends(ev.Err.Detail(), ledgerMessage)
	}
	if err := d.enter(line); err != nil {
		d.log.Warn("cost ledger not written", "cause", err)
	}
}

// ends is the first line of s and as many bytes of its end as fit in about n in all.
func ends(s string, n int) string {
	first, rest, _ := strings.Cut(s, "\n")
	first = first[:min(len(first), n)]
	if over := len(rest) - (n - len(first)); over > 0 {
		rest = rest[over:]
		rest = rest[strings.IndexByte(rest, '\n')+1:] // of a line that is cut nothing
	}
	return strings.ToValidUTF8(strings.TrimSuffix(first+"\n"+rest, "\n"), "")
}

// enter adds a line to the ledger, durably.
func (d *disk) enter(line ledgerLine) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return appendLine(d.ledger(), b)
}

func (d *disk) ledger() string { return filepath.Join(d.dir, "ledger.jsonl") }

// appendLine adds b as a line of its own to the file at path, even where a crash
// cut the last line off, and has the system write it down.
func appendLine(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	b = append(b, '\n')
	if err == nil && fi.Size() > 0 {
		var end [1]byte
		if _, err = f.ReadAt(end[:], fi.Size()-1); err == nil && end[0] != '\n' {
			b = append([]byte{'\n'}, b...)
		}
	}
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && fi.Size() == 0 {
		err = syncDir(filepath.Dir(path))
	}
	return errors.Join(err, f.Close())
}

// ledgerTail is how much of the end of the ledger is looked at for outcomes whose
// journal a crash left behind, in bytes: they are among the last.
const ledgerTail = 1 << 20

// ledgerMessage is how much of an error's message the ledger keeps, in bytes.
const ledgerMessage = 1 << 10

// accounted gives the last outcomes in the ledger: when each task ended, by its
// task_id.
func (d *disk) accounted() map[string]time.Time {
	ended := map[string]time.Time{}
	for _, l := range d.lastOutcomes() {
		if l.Outcome != outcomeSeen {
			ended[l.TaskID] = l.At
		}
	}
	return ended
}

// lastOutcomes gives what the end of the ledger holds, oldest first. What cannot be
// read is left out.
func (d *disk) lastOutcomes() []ledgerLine {
	f, err := os.Open(d.ledger())
	if err != nil {
		return nil // there is none yet
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() > ledgerTail {
		_, _ = f.Seek(-ledgerTail, io.SeekEnd) // if it fails, more is read
	}
	raw, err := io.ReadAll(io.LimitReader(f, 2*ledgerTail))
	if err != nil {
		d.log.Warn("cost ledger not read", "cause", err)
	}
	var out []ledgerLine
	for line := range bytes.Lines(raw) {
		var l ledgerLine
		if json.Unmarshal(line, &l) == nil && l.Outcome != "" && l.TaskID != "" { // else cut off
			out = append(out, l)
		}
	}
	return out
}
