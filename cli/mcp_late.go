package cli

import (
	"context"
	"errors"
	"sync"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/server/mcp"
)

// lateOwner finds the owner when it is needed, and again after it stopped
// answering: a box may start after its agents and may come back elsewhere.
type lateOwner struct {
	find func(context.Context) (mcp.Owner, error)

	mu  sync.Mutex
	cur mcp.Owner
}

var _ mcp.Owner = (*lateOwner)(nil)

// get is the owner, found anew where there is none.
func (o *lateOwner) get(ctx context.Context) (mcp.Owner, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cur != nil {
		return o.cur, nil
	}
	found, err := o.find(ctx)
	if err != nil {
		return nil, err
	}
	o.cur = found
	return found, nil
}

func (o *lateOwner) drop(gone mcp.Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cur == gone {
		o.cur = nil
	}
}

// ask calls the owner, and once more where it is found anew.
func ask[T any](ctx context.Context, o *lateOwner, call func(mcp.Owner) (T, error)) (v T, err error) {
	for range 2 {
		cur, findErr := o.get(ctx)
		if findErr != nil {
			return v, notFound(findErr)
		}
		if v, err = call(cur); !absent(err) {
			return v, err
		}
		o.drop(cur)
	}
	return v, err
}

// notFound is a failure to find the owner as a refusal that a model can tell.
func notFound(err error) error {
	var e *acop.Error
	if errors.As(err, &e) {
		return e
	}
	return acop.Errorf(acop.CodeUnavailable, "%s", err)
}

// absent tells whether an owner has to be looked for again: it is gone, or does
// not know the token any more.
func absent(err error) bool {
	var e *acop.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == acop.CodeUnauthenticated || e.Code == acop.CodeUnavailable && e.Status == 0
}

// Identity implements mcp.Owner.
func (o *lateOwner) Identity(ctx context.Context) (string, error) {
	return ask(ctx, o, func(c mcp.Owner) (string, error) { return c.Identity(ctx) })
}

// Do implements mcp.Owner. Both tries have one key, so that the act happens once.
func (o *lateOwner) Do(ctx context.Context, act acop.Act) (*acop.Receipt, error) {
	if act.Key == "" {
		act.Key = client.NewKey()
	}
	return ask(ctx, o, func(c mcp.Owner) (*acop.Receipt, error) { return c.Do(ctx, act) })
}

// Items implements mcp.Owner.
func (o *lateOwner) Items(ctx context.Context, q mcp.Query) (*mcp.Page, error) {
	return ask(ctx, o, func(c mcp.Owner) (*mcp.Page, error) { return c.Items(ctx, q) })
}

// Detail implements mcp.Owner.
func (o *lateOwner) Detail(ctx context.Context, id string) (*acop.Detail, error) {
	return ask(ctx, o, func(c mcp.Owner) (*acop.Detail, error) { return c.Detail(ctx, id) })
}

// Claims implements mcp.Owner.
func (o *lateOwner) Claims(ctx context.Context, agent string) (*mcp.Claims, error) {
	return ask(ctx, o, func(c mcp.Owner) (*mcp.Claims, error) { return c.Claims(ctx, agent) })
}

// Claim implements mcp.Owner.
func (o *lateOwner) Claim(ctx context.Context, id string) (*acop.Claim, error) {
	return ask(ctx, o, func(c mcp.Owner) (*acop.Claim, error) { return c.Claim(ctx, id) })
}

// Entries implements mcp.Owner.
func (o *lateOwner) Entries(ctx context.Context, q mcp.EntryQuery) ([]acop.Posted, error) {
	return ask(ctx, o, func(c mcp.Owner) ([]acop.Posted, error) { return c.Entries(ctx, q) })
}
