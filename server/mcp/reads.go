package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// pickup lists what the caller can take (C-067).
func (c *call) pickup(ctx context.Context, a *pickupArgs, out *pickupResult) (string, *acop.Error) {
	page, err := c.owner.Items(ctx, Query{Agent: c.who, Actionable: true, Repo: a.Repo, Branch: a.Branch, Order: string(a.Order), Limit: int(cmp.Or(a.Limit, fewRows))})
	if err != nil {
		return "", refusalOf(err)
	}
	out.WorkItems = briefs(page.Rows)
	if len(out.WorkItems) == 0 {
		return "Nothing is ready for you now. Ask again later; do not invent work.", nil
	}
	return fmt.Sprintf("Ready for you (%d):%s\nClaim one with %s before you touch anything.", len(out.WorkItems), lines(out.WorkItems), toolClaim), nil
}

func briefs(rows []Row) []brief {
	out := make([]brief, 0, len(rows))
	for _, r := range rows {
		out = append(out, briefOf(r))
	}
	return out
}

func (c *call) list(ctx context.Context, a *listArgs, out *listResult) (string, *acop.Error) {
	q := Query{Agent: a.Agent, Status: a.Status, Repo: a.Repo, Branch: a.Branch, BlockerCode: a.BlockerCode, Claimable: a.Claimable,
		Actionable: a.Actionable, Text: a.Q, Order: string(a.Order), Limit: int(cmp.Or(a.Limit, fewRows)), Cursor: a.Cursor}
	if n := len(a.Between); n == 2 {
		q.Between = [2]string{a.Between[0], a.Between[1]}
	} else if n > 0 {
		return "", badArguments("between needs exactly two identities, not %d", n)
	}
	if a.Actionable && a.Agent == "" {
		q.Agent = c.who
	}
	page, err := c.owner.Items(ctx, q)
	if err != nil {
		return "", refusalOf(err)
	}
	out.WorkItems, out.NextCursor = briefs(page.Rows), page.NextCursor
	switch {
	case len(out.WorkItems) == 0:
		return "No work item fits.", nil
	case out.NextCursor != "":
		return fmt.Sprintf("%d work items, and there are more: pass next_cursor as cursor.%s", len(out.WorkItems), lines(out.WorkItems)), nil
	}
	return fmt.Sprintf("Work items (%d):%s", len(out.WorkItems), lines(out.WorkItems)), nil
}

func (c *call) item(ctx context.Context, a *itemArgs, out *itemResult) (string, *acop.Error) {
	if refused := a.belong(); refused != nil {
		return "", refused
	}
	d, err := c.owner.Detail(ctx, string(a.WorkItemID))
	if err != nil {
		return "", refusalOf(err)
	}
	out.Item, out.Overlaps = d.Item, d.Overlaps
	out.Entries = newest(d.Entries, fewRows)
	if a.Path != "" {
		return readPiece(a.readOn, itemResult{Item: out.Item, Overlaps: out.Overlaps, Entries: out.Entries}, &out.Piece, func() { *out = itemResult{} })
	}
	return describe(d, c.who), nil
}

// belong refuses an offset into nothing: it would be lost in silence.
func (a *readOn) belong() *acop.Error {
	if a.Path == "" && a.Offset > 0 {
		return badArguments("offset goes with path, and there is none; take it from left_out of the result without both")
	}
	return nil
}

// readPiece answers with a part of a result and drops the rest of it.
func readPiece(a readOn, res any, to **piece, drop func()) (string, *acop.Error) {
	drop()
	raw, err := json.Marshal(res)
	if err != nil {
		return "", acop.Errorf(acop.CodeInternal, "the result could not be written")
	}
	p, refused := pieceOf(tree(raw), a.Path, int(a.Offset))
	if refused != nil {
		return "", refused
	}
	*to = p
	said := fmt.Sprintf("%d to %d of %d at %s.", p.Offset, cmp.Or(p.NextOffset, p.Of), p.Of, clip(text.Line(p.Path), 200))
	if p.NextOffset > 0 {
		said += fmt.Sprintf(" Read on with offset %d.", p.NextOffset)
	}
	if p.Text != "" {
		said += "\n" + strings.Join(text.Block(p.Text), "\n")
	}
	for _, m := range p.Members {
		raw, err := json.Marshal(m)
		if err != nil {
			return "", acop.Errorf(acop.CodeInternal, "the result could not be written")
		}
		said += "\n- " + text.Line(string(raw))
	}
	return said, nil
}

// newest keeps the last n.
func newest[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

// Bounds of the texts of a work item in words, in bytes.
const (
	describeText = 8 << 10
	describeLine = 500
)

// describe is a work item in a few lines of text.
func describe(d *acop.Detail, who string) string {
	it := d.Item
	w := &it.WorkItem
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s (%s, %s)", text.ID(w.WorkItemID), w.Status, w.WorkKind, w.Priority)
	switch h := it.Holder(); {
	case h == who:
		b.WriteString(", held by you")
	case h != "":
		b.WriteString(", held by " + text.ID(h) + " until " + it.Lease.Claim.ExpiresAtUTC.String())
	case w.Status == acop.StatusReady && acop.Actionable(it, who):
		b.WriteString(", free to claim")
	}
	b.WriteString(".")
	if w.Title != "" {
		b.WriteString("\nTitle: " + clip(text.Line(w.Title), describeLine))
	}
	if w.Summary != "" {
		b.WriteString("\nSummary: " + strings.Join(text.Block(clip(w.Summary, describeText)), "\n"))
		if len(w.Summary) > describeText {
			b.WriteString("\n(That is not all: read on with path /item/work_item/summary and an offset.)")
		}
	}
	for _, bl := range first(it.Blockers, briefPaths) {
		fmt.Fprintf(&b, "\nBlocked (%s): %s", text.ID(bl.BlockerCode), clip(text.Line(bl.Summary), describeLine))
	}
	b.WriteString(asks(it.ValidationRequirements))
	for _, o := range first(d.Overlaps, briefPaths) {
		fmt.Fprintf(&b, "\nOverlap: %s holds %s and works on %s", text.ID(o.WorkerAgentUID), text.ID(o.WorkItemID), text.ID(strings.Join(append(o.Paths, o.Symbols...), ", ")))
	}
	if n := len(d.Entries); n > 0 {
		fmt.Fprintf(&b, "\n%d notes, the newest: %s", n, entryLine(&d.Entries[n-1].Entry))
	}
	return b.String()
}

// asks lists what completing will ask for.
func asks(rs []acop.ValidationRequirement) string {
	var b strings.Builder
	for _, r := range first(rs, briefPaths) {
		fmt.Fprintf(&b, "\nEvidence needed: %s (%s): %s", text.ID(r.RequirementID), clip(text.Line(r.Kind), describeLine), clip(text.Line(r.Summary), describeLine))
	}
	return b.String()
}

func entryLine(e *acop.BlackboardEntry) string {
	return fmt.Sprintf("%s by %s: %s", e.EntryKind, text.ID(e.AuthorAgentUID), text.Clip(text.Line(e.Summary), 200))
}

func (c *call) board(ctx context.Context, a *boardArgs, out *boardResult) (string, *acop.Error) {
	if refused := a.belong(); refused != nil {
		return "", refused
	}
	most := int(cmp.Or(a.Limit, fewRows))
	entries, err := c.owner.Entries(ctx, EntryQuery{WorkItemID: a.WorkItemID, Kind: a.Kind, Author: a.Author, EntryID: a.EntryID,
		Since: a.Since, Before: a.Before, Newest: most + 1}) // one more tells whether there are others
	if err != nil {
		return "", refusalOf(err)
	}
	entries = slices.DeleteFunc(entries, func(e acop.Posted) bool {
		return a.EntryID != "" && e.Entry.EntryID != a.EntryID || a.Before > 0 && e.Revision >= a.Before
	})
	out.Entries = newest(entries, most)
	if a.Path != "" {
		return readPiece(a.readOn, boardResult{Entries: out.Entries}, &out.Piece, func() { *out = boardResult{} })
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d notes:", len(out.Entries))
	for i := range out.Entries {
		e := &out.Entries[i].Entry
		b.WriteString("\n- " + text.ID(e.WorkItemID) + ", " + entryLine(e))
	}
	if len(entries) > len(out.Entries) {
		out.Before = out.Entries[0].Revision
		fmt.Fprintf(&b, "\nThere are older ones: pass before %d.", out.Before)
	}
	return b.String(), nil
}

func (c *call) claims(ctx context.Context, _ *noArgs, _ *claimsResult) (string, *acop.Error) {
	if _, err := c.owner.Claims(ctx, c.who); err != nil {
		return "", refusalOf(err)
	}
	return "You are " + text.ID(c.who) + ".", nil
}
