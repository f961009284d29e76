package acop

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"signalbox/model/acop"
)

// Do asks the owner to carry out act and returns its receipt. A refusal is an
// *acop.Error, a silent owner has [ErrUnreachable] in its chain. Failures that
// may pass are tried again within Options.Patience under one Idempotency-Key, so
// that an act whose answer was lost still happens once.
func (c *Client) Do(ctx context.Context, act acop.Act) (*acop.Receipt, error) {
	return c.do(ctx, act, c.exchange)
}

// once is Do with exactly one try.
func (c *Client) once(ctx context.Context, act acop.Act) (*acop.Receipt, error) {
	return c.do(ctx, act, c.send)
}

func (c *Client) do(ctx context.Context, act acop.Act, send func(context.Context, *request) (*answer, error)) (*acop.Receipt, error) {
	w, err := c.encode(ctx, &act)
	if err != nil {
		return nil, err
	}
	if act.Key == "" {
		act.Key = NewKey()
	}
	w.body["protocol_version"] = acop.ProtocolVersion // C-081
	body, err := json.Marshal(w.body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", act.Verb, err)
	}
	header := http.Header{"Idempotency-Key": {act.Key}}
	if act.IfRevision != 0 {
		header.Set("If-Match", strconv.Quote(strconv.FormatUint(act.IfRevision, 10)))
	}
	ans, err := send(ctx, &request{
		method:  w.method,
		url:     c.endpoint(nil, w.path...),
		body:    body,
		header:  header,
		timeout: tryTimeout,
	})
	if err != nil {
		return nil, err
	}
	return receipt(&act, ans)
}

// NewKey makes an Idempotency-Key: 130 random bits.
func NewKey() string { return rand.Text() }

// wireReceipt is the union of all success bodies (C.4, extension verbs).
type wireReceipt struct {
	Revision       uint64                `json:"revision"`
	WorkItemStatus acop.Status           `json:"work_item_status"`
	Item           *acop.Item            `json:"item"`
	Claim          *acop.Claim           `json:"claim"`
	RevokedClaim   *acop.Claim           `json:"revoked_claim"` // by a cancel or a supersede
	Entry          *acop.BlackboardEntry `json:"entry"`
	Released       []string              `json:"released"`
	Intent         *acop.Intent          `json:"intent"`
	Settings       *acop.Settings        `json:"settings"`

	WorkItem               *acop.WorkItem               `json:"work_item"`
	Blockers               []acop.Blocker               `json:"blockers"`
	Operations             []acop.Operation             `json:"operations"`
	Artifacts              []acop.Artifact              `json:"artifacts"`
	ValidationRequirements []acop.ValidationRequirement `json:"validation_requirements"`
}

// receipt reads a success body and checks that it speaks of what was asked: a
// replay under a reused key could speak of something else (D-56).
func receipt(act *acop.Act, ans *answer) (*acop.Receipt, error) {
	var w wireReceipt
	if err := json.Unmarshal(ans.body, &w); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", act.Verb, ErrProtocol, err)
	}
	r := &acop.Receipt{
		Revision: w.Revision,
		Replayed: ans.header.Get("Idempotency-Replayed") == "true",
		Item:     w.Item,
		Claim:    w.Claim,
		Intent:   w.Intent,
		Entry:    w.Entry,
		Released: w.Released,
		Settings: w.Settings,
		Status:   w.WorkItemStatus,
	}
	if r.Claim == nil {
		r.Claim = w.RevokedClaim
	}
	if r.Settings != nil && r.Settings.Revision == 0 {
		// The answer to a change is made before its revision is known.
		r.Settings.Revision = objectRevision(ans, w.Revision)
	}
	if r.Item == nil && w.WorkItem != nil {
		r.Item = &acop.Item{
			WorkItem:               *w.WorkItem,
			Blockers:               w.Blockers,
			Operations:             w.Operations,
			Artifacts:              w.Artifacts,
			ValidationRequirements: w.ValidationRequirements,
			Revision:               objectRevision(ans, w.Revision),
		}
	}
	if r.Status == "" && r.Item != nil {
		r.Status = r.Item.Status()
	}
	if err := checkReceipt(act, r); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", act.Verb, ErrProtocol, err)
	}
	return r, nil
}

// objectRevision is the revision of the object an answer is about: its ETag.
func objectRevision(ans *answer, fallback uint64) uint64 {
	n, err := strconv.ParseUint(strings.Trim(ans.header.Get("ETag"), `"`), 10, 64)
	if err != nil {
		return fallback
	}
	return n
}

func checkReceipt(act *acop.Act, r *acop.Receipt) error {
	if err := checkStatus(r.Status); err != nil {
		return err
	}
	switch act.Verb {
	case acop.VerbClaim, acop.VerbRenew, acop.VerbRelease, acop.VerbComplete:
		return checkClaimReceipt(act, r)
	case acop.VerbPut, acop.VerbAccept:
		want := act.WorkItemID
		if act.Document != nil {
			want = act.Document.WorkItem.WorkItemID
		}
		if r.Item == nil || r.Item.ID() != want {
			return fmt.Errorf("the answer does not speak of work item %q", want)
		}
	case acop.VerbPost:
		if r.Entry == nil {
			return fmt.Errorf("the answer holds no entry")
		}
	}
	return nil
}

func checkClaimReceipt(act *acop.Act, r *acop.Receipt) error {
	switch {
	case r.Claim == nil:
		return fmt.Errorf("the answer holds no claim")
	case act.Verb == acop.VerbClaim && r.Claim.WorkItemID != act.WorkItemID:
		return fmt.Errorf("the answer is about work item %q, not %q", r.Claim.WorkItemID, act.WorkItemID)
	case act.Verb != acop.VerbClaim && r.Claim.ClaimID != act.ClaimID:
		return fmt.Errorf("the answer is about claim %q, not %q", r.Claim.ClaimID, act.ClaimID)
	}
	return nil
}
