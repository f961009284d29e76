package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acmp"
)

// methodNotFound is JSON-RPC's code for a method that is not served.
const methodNotFound = -32601

// ErrNoQuotes is what [Buyer.Quote] answers where the provider has no layer 6
//
var ErrNoQuotes = errors.New("the provider makes no offers")

// offerParams and acceptParams are the requests of layer 6 as the SDK sends them.
type offerParams struct {
	mcp.ParamsBase
	acmp.OfferRequest
}

type acceptParams struct {
	mcp.ParamsBase
	acmp.Accept
}

func addOfferMethods(c *mcp.Client) error {
	return errors.Join(
		mcp.AddSendingCustomMethod[*offerParams, *rawResult](c, acmp.MethodOfferRequest),
		mcp.AddSendingCustomMethod[*acceptParams, *rawResult](c, acmp.MethodAccept),
	)
}

// Quote asks a provider what a task would cost (layer 6, 2.1). The offer was
// checked against r: it is for the same capability, at most its ceiling, and still
// valid. Errors are a [*Refusal] where nobody answers, [ErrNoQuotes], an
// *acmp.Error of the provider (-33001, -33002, -33006), or one with Local set for
// an offer that breaks the protocol.
func (b *Buyer) Quote(ctx context.Context, provider string, r acmp.OfferRequest) (*acmp.Offer, error) {
	raw, err := b.ask(ctx, provider, func(ctx context.Context, cs *mcp.ClientSession) (*rawResult, error) {
		return mcp.CallCustomMethod[*offerParams, *rawResult](ctx, cs, acmp.MethodOfferRequest, &offerParams{OfferRequest: r})
	})
	if err != nil {
		return nil, err
	}
	o := new(acmp.Offer)
	if acmp.Decode(raw, o) != nil {
		return nil, localError(acmp.CodeInternal, "protocol error: the offer cannot be read")
	}
	if msg := o.Problem(&r, time.Now()); msg != "" {
		return nil, localError(acmp.CodeInternal, "protocol error: %s", msg)
	}
	return o, nil
}

// Accept takes an offer of a provider (layer 6, 2.2): from here on its terms bind.
// escrowID may be "" for direct settlement. Errors are as for [Buyer.Quote], with
// the codes -34001 to -34003 of the provider; an acceptance of other terms than
// were offered is a local error, and then nothing should be invoked.
func (b *Buyer) Accept(ctx context.Context, provider string, o *acmp.Offer, escrowID string) (*acmp.Acceptance, error) {
	raw, err := b.ask(ctx, provider, func(ctx context.Context, cs *mcp.ClientSession) (*rawResult, error) {
		return mcp.CallCustomMethod[*acceptParams, *rawResult](ctx, cs, acmp.MethodAccept,
			&acceptParams{Accept: acmp.Accept{OfferID: o.OfferID, EscrowID: escrowID}})
	})
	if err != nil {
		return nil, err
	}
	a := new(acmp.Acceptance)
	switch {
	case acmp.Decode(raw, a) != nil || acmp.ValidCU(a.PriceCU) != nil:
		return nil, localError(acmp.CodeInternal, "protocol error: the acceptance cannot be read")
	case a.OfferID != o.OfferID || (escrowID != "" && a.EscrowID != escrowID):
		return nil, localError(acmp.CodeInternal, "protocol error: the acceptance is of something else")
	}
	if over, err := acmp.Overcharge(a.PriceCU, &o.PriceCU); err != nil || over != "" {
		return nil, localError(acmp.CodeInternal, "protocol error: accepted at %s CU, but offered at %s", a.PriceCU, o.PriceCU)
	}
	return a, nil
}

// ask sends one request that is no task; ctx bounds it.
func (b *Buyer) ask(ctx context.Context, provider string, call func(context.Context, *mcp.ClientSession) (*rawResult, error)) (json.RawMessage, error) {
	l := b.links[provider]
	if l == nil {
		return nil, refuse(acmp.CodeInvalidParams, "there is no provider named %q here", provider)
	}
	s, _, err := l.acquire(ctx)
	if err != nil {
		return nil, asRefusal(l, err)
	}
	defer l.release(s)
	res, err := call(ctx, s.cs)
	if err == nil {
		return res.raw, nil
	}
	e := peerError(err, nil)
	if e == nil {
		_ = errors.As(err, &e)
	}
	switch {
	case e != nil && e.Code == methodNotFound:
		return nil, fmt.Errorf("%s: %w", provider, ErrNoQuotes)
	case e != nil:
		return nil, receivedError(e, l.spec.Token)
	}
	return nil, asRefusal(l, err)
}
