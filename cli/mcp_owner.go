package cli

import (
	"context"
	"errors"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/server/mcp"
)

// agentOwner is the owner behind the MCP tools: the same client for an owner in
// this process, whose handler it calls directly, and for one behind HTTP.
type agentOwner struct{ c *client.Client }

var _ mcp.Owner = agentOwner{}

// asRefusal gives every failure the form that the tools tell: what is no answer
// of an owner counts as "not now".
func asRefusal(err error) error {
	var e *acop.Error
	switch {
	case err == nil, errors.As(err, &e):
		return err
	case errors.Is(err, client.ErrProtocol):
		return acop.Errorf(acop.CodeInternal, "the owner's answer is not ACOP 1.x")
	case errors.Is(err, client.ErrUntrusted):
		return acop.Errorf(acop.CodeUnavailable, "%s", err)
	case errors.Is(err, client.ErrUnreachable):
		return acop.Errorf(acop.CodeUnavailable, "the owner does not answer; it may be stopped or starting")
	}
	return acop.Errorf(acop.CodeUnavailable, "%s", err)
}

// Identity implements mcp.Owner.
func (o agentOwner) Identity(ctx context.Context) (string, error) {
	id, err := o.c.Identity(ctx)
	return id, asRefusal(err)
}

// Do implements mcp.Owner.
func (o agentOwner) Do(ctx context.Context, act acop.Act) (*acop.Receipt, error) {
	r, err := o.c.Do(ctx, act)
	return r, asRefusal(err)
}

// Items implements mcp.Owner.
func (o agentOwner) Items(ctx context.Context, q mcp.Query) (*mcp.Page, error) {
	l, err := o.c.Items(ctx, client.Query{Agent: q.Agent, Between: q.Between, Status: q.Status, Repo: q.Repo, Branch: q.Branch,
		BlockerCode: q.BlockerCode, Claimable: q.Claimable, Actionable: q.Actionable, Text: q.Text, Order: q.Order, Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return nil, asRefusal(err)
	}
	p := &mcp.Page{NextCursor: l.NextCursor}
	for _, r := range l.WorkItems {
		r.WorkItem.Status = r.Status
		p.Rows = append(p.Rows, mcp.Row{WorkItem: r.WorkItem, BlockerCodes: r.BlockerCodes, Claim: r.Claim, Overlaps: r.Overlaps})
	}
	return p, nil
}

// Detail implements mcp.Owner.
func (o agentOwner) Detail(ctx context.Context, id string) (*acop.Detail, error) {
	d, err := o.c.Detail(ctx, id)
	return d, asRefusal(err)
}

// Claims implements mcp.Owner.
func (o agentOwner) Claims(ctx context.Context, agent string) (*mcp.Claims, error) {
	l, err := o.c.Claims(ctx, agent)
	if err != nil {
		return nil, asRefusal(err)
	}
	out := &mcp.Claims{AtUTC: l.AtUTC}
	for _, h := range l.Claims {
		out.Claims = append(out.Claims, mcp.Held{Claim: h.Claim, Status: h.WorkItemStatus, Lease: h.Lease})
	}
	return out, nil
}

// Claim implements mcp.Owner.
func (o agentOwner) Claim(ctx context.Context, id string) (*acop.Claim, error) {
	c, err := o.c.Claim(ctx, id)
	return c, asRefusal(err)
}

// Entries implements mcp.Owner.
func (o agentOwner) Entries(ctx context.Context, q mcp.EntryQuery) ([]acop.Posted, error) {
	es, err := o.c.Entries(ctx, client.EntryQuery{WorkItemID: q.WorkItemID, Kind: q.Kind, Author: q.Author,
		EntryID: q.EntryID, Since: q.Since, Before: q.Before, Newest: q.Newest})
	return es, asRefusal(err)
}
