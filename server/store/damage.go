package store

import (
	"fmt"
	"strings"
)

// DamageError means that the log is not what it was when it was last used. It
// is never served in that state.
type DamageError struct {
	Dir     string
	Missing []Range  // revisions that are not there
	Broken  []uint64 // revisions whose checksum or link does not fit
	Last    uint64   // last revision of the log as found
	Noted   uint64   // last revision that the note beside the log remembers
	// Other says that the log goes another way than the one that was noted: an
	// older or a foreign copy was put in its place.
	Other bool
	Note  string // what is wrong with the note itself; "" = nothing
	// Engine says how the engine's view differs from the files; "" = not.
	Engine string
}

func (d *DamageError) any() bool {
	return len(d.Missing) > 0 || len(d.Broken) > 0 || d.Last < d.Noted || d.Other || d.Note != "" || d.Engine != ""
}

// what says what is wrong, without ways out.
func (d *DamageError) what() string {
	var parts []string
	if len(d.Missing) > 0 {
		parts = append(parts, "missing are the revisions "+list(d.Missing))
	}
	if len(d.Broken) > 0 {
		runs := make([]Range, len(d.Broken))
		for i, rev := range d.Broken {
			runs[i] = Range{rev, rev}
		}
		parts = append(parts, "checksum or link do not fit at revision "+list(runs))
	}
	if d.Last < d.Noted {
		parts = append(parts, fmt.Sprintf("it ends at revision %d, but revision %d was already there", d.Last, d.Noted))
	}
	if d.Other {
		parts = append(parts, fmt.Sprintf("at revision %d it holds another record than the one that was there", d.Noted))
	}
	if d.Note != "" {
		parts = append(parts, d.Note)
	}
	if d.Engine != "" {
		parts = append(parts, d.Engine)
	}
	return strings.Join(parts, "; ")
}

// Error says what is wrong and names the ways out.
func (d *DamageError) Error() string {
	return fmt.Sprintf("the log in %s is damaged: %s. It is not served in this state. "+
		"Keep a copy of the folder as it is (cp -a). Then restore it from a backup, copy it from another owner, "+
		"or start once with serve --accept-loss to go on with what is left",
		d.Dir, d.what())
}

// list names at most some ranges; a person does not read thousands.
func list(rs []Range) string {
	const most = 8
	var b strings.Builder
	for i, r := range rs {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(rs)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(r.String())
	}
	return b.String()
}
