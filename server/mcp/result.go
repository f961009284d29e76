package mcp

import (
	"fmt"
	"strings"
	"time"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// standing stands in every result: who the caller is, what it holds and what it
// has lost, and the refusal if there was one.
type standing struct {
	You        string     `json:"you,omitempty" jsonschema:"your identity at the owner"`
	YourClaims []holding  `json:"your_claims" jsonschema:"the claims you hold now; null when that could not be read"`
	LostClaims []loss     `json:"lost_claims,omitempty" jsonschema:"claims that ended without you: stop that work"`
	Warnings   []string   `json:"warnings,omitempty"`
	Error      *fault     `json:"error,omitempty" jsonschema:"set when the call was refused; nothing was changed"`
	LeftOut    []omission `json:"left_out,omitempty" jsonschema:"what is too long to stand in this result"`
}

func (s *standing) common() *standing { return s }

// holding is one live claim of the caller.
type holding struct {
	ClaimID        string      `json:"claim_id"`
	WorkItemID     string      `json:"work_item_id"`
	WorkItemStatus acop.Status `json:"work_item_status"`
	ExpiresAtUTC   acop.Time   `json:"expires_at_utc"`
	SecondsLeft    int64       `json:"seconds_left"`
	AutoRenew      bool        `json:"auto_renew" jsonschema:"the lease is renewed for you while you show life"`

	left bool // of an earlier run of the agent: a report takes it up again
}

// loss is a claim that ended by another's act or by time.
type loss struct {
	ClaimID     string           `json:"claim_id"`
	WorkItemID  string           `json:"work_item_id"`
	ClaimStatus acop.ClaimStatus `json:"claim_status"`
	By          string           `json:"by,omitempty"`
	Reason      string           `json:"reason,omitempty"`
}

// fault is a refusal, with what to do about it.
type fault struct {
	Code              acop.Code      `json:"code"`
	Message           string         `json:"message"`
	Next              string         `json:"next" jsonschema:"what to do now"`
	RetryAfterSeconds int64          `json:"retry_after_seconds,omitempty"`
	Details           map[string]any `json:"details,omitempty"`
}

// brief is a work item in a list.
type brief struct {
	WorkItemID         string         `json:"work_item_id"`
	Title              string         `json:"title,omitempty"`
	Summary            string         `json:"summary,omitempty"`
	WorkKind           acop.WorkKind  `json:"work_kind"`
	Status             acop.Status    `json:"status"`
	Priority           acop.Priority  `json:"priority"`
	ActionabilityScore float64        `json:"actionability_score"`
	Producer           string         `json:"producer"`
	TargetAgentUID     string         `json:"target_agent_uid,omitempty"`
	TargetRepoID       string         `json:"target_repo_id,omitempty"`
	TargetBranch       string         `json:"target_branch,omitempty"`
	OwnedPaths         []string       `json:"owned_paths,omitempty"`
	BlockerCodes       []string       `json:"blocker_codes,omitempty"`
	HeldBy             string         `json:"held_by,omitempty"`
	ExpiresAtUTC       acop.Time      `json:"expires_at_utc,omitzero"`
	Overlaps           []acop.Overlap `json:"overlaps,omitempty" jsonschema:"live claims of others on the same paths or symbols"`
}

// Bounds of a work item in a list, where a stranger's text must not fill a model's
// window; acop_get_work_item has all of it.
const (
	titleCells   = 200
	summaryCells = 300
	briefPaths   = 20 // of its own paths
	briefCodes   = 10 // of its blockers
)

func briefOf(r Row) brief {
	w := &r.WorkItem
	b := brief{WorkItemID: w.WorkItemID, Title: short(w.Title, titleCells), Summary: short(w.Summary, summaryCells), WorkKind: w.WorkKind, Status: w.Status,
		Priority: w.Priority, ActionabilityScore: w.ActionabilityScore, Producer: w.Producer, TargetAgentUID: w.TargetAgentUID,
		TargetRepoID: w.TargetRepoID, TargetBranch: w.TargetBranch, OwnedPaths: first(w.OwnedPaths, briefPaths), BlockerCodes: first(r.BlockerCodes, briefCodes), Overlaps: r.Overlaps}
	if r.Claim != nil {
		b.HeldBy, b.ExpiresAtUTC = r.Claim.WorkerAgentUID, r.Claim.ExpiresAtUTC
	}
	return b
}

// short cuts s to n cells, and to four bytes for each: marks without a width would
// pass by the first.
func short(s string, n int) string { return text.Clip(clip(s, 4*n), n) }

// first keeps the first n.
func first[T any](s []T, n int) []T { return s[:min(len(s), n)] }

// line is a work item in one line of text.
func (b *brief) line() string {
	var s strings.Builder
	fmt.Fprintf(&s, "- %s (%s, %s, %s)", text.ID(b.WorkItemID), b.WorkKind, b.Priority, b.Status)
	if b.HeldBy != "" {
		s.WriteString(", held by " + text.ID(b.HeldBy))
	}
	if b.Title != "" {
		s.WriteString(": " + short(text.Line(b.Title), 120))
	}
	for _, o := range b.Overlaps {
		fmt.Fprintf(&s, "; overlaps with %s, which %s holds", text.ID(o.WorkItemID), text.ID(o.WorkerAgentUID))
	}
	return s.String()
}

func lines(bs []brief) string {
	var s strings.Builder
	for i := range bs {
		s.WriteString("\n" + bs[i].line())
	}
	return s.String()
}

type pickupResult struct {
	standing
	WorkItems []brief `json:"work_items,omitempty"`
}

type listResult struct {
	standing
	WorkItems  []brief `json:"work_items,omitempty"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

type itemResult struct {
	standing
	Item     *acop.Item     `json:"item,omitempty"`
	Entries  []acop.Posted  `json:"entries,omitempty" jsonschema:"the newest notes about it"`
	Overlaps []acop.Overlap `json:"overlaps,omitempty" jsonschema:"live claims of others on the same paths or symbols"`
	Piece    *piece         `json:"piece,omitempty" jsonschema:"what stands at path, from offset on"`
}

type boardResult struct {
	standing
	Entries []acop.Posted `json:"entries,omitempty"`
	// Before is the argument that brings the notes in front of these.
	Before uint64 `json:"before,omitempty" jsonschema:"set when older notes were left out: pass it as before"`
	Piece  *piece `json:"piece,omitempty" jsonschema:"what stands at path, from offset on"`
}

type claimsResult struct {
	standing
}

type claimResult struct {
	standing
	Claim                  *acop.Claim                  `json:"claim,omitempty"`
	WorkItemStatus         acop.Status                  `json:"work_item_status,omitempty"`
	ValidationRequirements []acop.ValidationRequirement `json:"validation_requirements,omitempty" jsonschema:"what complete will ask for"`
	Overlaps               []acop.Overlap               `json:"overlaps,omitempty" jsonschema:"live claims of others on the same paths or symbols"`
	AlsoReady              []brief                      `json:"also_ready,omitempty" jsonschema:"other work you could claim instead"`
}

type updateResult struct {
	standing
	Claim          *acop.Claim `json:"claim,omitempty"`
	WorkItemStatus acop.Status `json:"work_item_status,omitempty"`
}

type workResult struct {
	standing
	WorkItem *acop.WorkItem `json:"work_item,omitempty"`
	Released []string       `json:"released,omitempty" jsonschema:"items that became ready by this"`
}

type postResult struct {
	standing
	Entry *acop.BlackboardEntry `json:"entry,omitempty"`
}

// span is a duration in words that a model does not misread.
func span(secs int64) string {
	return (time.Duration(secs) * time.Second).String()
}

// text tells what the caller holds and has lost.
func (s *standing) text() string {
	var b strings.Builder
	for _, l := range s.LostClaims {
		b.WriteString(l.line())
	}
	for _, h := range s.YourClaims {
		fmt.Fprintf(&b, "\nYou hold %s (claim %s, %s): %s left", text.ID(h.WorkItemID), text.ID(h.ClaimID), h.WorkItemStatus, span(h.SecondsLeft))
		switch {
		case h.AutoRenew:
			b.WriteString(", renewed for you while you show life.")
		case h.left:
			b.WriteString(", from an earlier run of yours: send a heartbeat if you go on with it, else release it.")
		default:
			b.WriteString("; renew it yourself with " + toolUpdate + ".")
		}
	}
	if s.YourClaims != nil && len(s.YourClaims) == 0 {
		b.WriteString("\nYou hold no claims.")
	}
	for _, w := range s.Warnings {
		b.WriteString("\nWarning: " + w)
	}
	return b.String()
}

func (l *loss) line() string {
	what := "was " + string(l.ClaimStatus)
	if l.ClaimStatus == acop.ClaimExpired {
		what = "ran out with its lease"
	}
	if l.By != "" {
		what += " by " + text.ID(l.By)
	}
	if l.Reason != "" {
		what += ", reason: " + text.Clip(text.Line(l.Reason), 300)
	}
	return fmt.Sprintf("\nLOST: your claim %s on %s %s. Stop that work now; it is not yours.", text.ID(l.ClaimID), text.ID(l.WorkItemID), what)
}
