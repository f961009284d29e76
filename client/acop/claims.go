package acop

import (
	"context"
	"fmt"
	"net/url"

	"signalbox/model/acop"
)

// Held is one live claim with its lease.
type Held struct {
	Claim          acop.Claim  `json:"claim"`
	WorkItemStatus acop.Status `json:"work_item_status"`
	Lease          *acop.Lease `json:"lease,omitempty"`
}

// Claims are live claims at one revision.
type Claims struct {
	Revision uint64    `json:"revision"`
	AtUTC    acop.Time `json:"at_utc"` // the owner's clock; zero where it does not tell
	Claims   []Held    `json:"claims"`
}

// Claims reads the live claims of agent, or of everybody when it is "", in the
// order in which they were granted.
func (c *Client) Claims(ctx context.Context, agent string) (*Claims, error) {
	q := url.Values{}
	if agent != "" {
		q.Set("agent", agent)
	}
	var w Claims
	if err := c.get(ctx, "the claims", tryTimeout, q, &w, "claims"); err != nil {
		return nil, err
	}
	for i := range w.Claims {
		if err := checkClaim(&w.Claims[i].Claim); err != nil {
			return nil, fmt.Errorf("read the claims: %w: %w", ErrProtocol, err)
		}
	}
	return &w, nil
}
