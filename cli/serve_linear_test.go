package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	linearClients = 64
	linearItems   = 24
	linearPhase   = 2500 * time.Millisecond // between two kills
)

// claimInput and claimOutput are one act as the checker sees it.
type claimInput struct {
	verb, item, worker, claim string
}

type claimOutput struct {
	status int
	claim  string // granted, in the way, or seen
}

// oneHolder is a work item as far as claims go: nobody or one claim.
var oneHolder = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byItem := make(map[string][]porcupine.Operation)
		for _, o := range history {
			id := o.Input.(claimInput).item
			byItem[id] = append(byItem[id], o)
		}
		var out [][]porcupine.Operation
		for _, ops := range byItem {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		held, in, out := state.(string), input.(claimInput), output.(claimOutput)
		switch in.verb {
		case "claim":
			if out.status == 201 {
				return held == "" && out.claim != "", out.claim
			}
			return out.status == 409 && held != "" && held == out.claim, held
		case "release":
			return out.status == 200 && held == in.claim, ""
		}
		return out.status == 200 && held == out.claim, held
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// linear drives many clients at an owner that is killed again and again.
type linear struct {
	t      *testing.T
	base   string
	tokens []string
	http   *http.Client
	start  time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
}

// send repeats a request with the same key until it is answered: a broken
// connection says nothing about whether the act was carried out (B46, B62).
func (l *linear) send(client int, method, path string, body map[string]any) (int, map[string]any) {
	raw, err := json.Marshal(body)
	if err != nil {
		l.t.Error(err)
	}
	key := fmt.Sprint(client, "-", rand.Uint64())
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); {
		req, _ := http.NewRequestWithContext(context.Background(), method, l.base+path, bytes.NewReader(raw))
		req.Header.Set("Authorization", "Bearer "+l.tokens[client])
		if method != http.MethodGet {
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Idempotency-Key", key)
		}
		resp, err := l.http.Do(req)
		if err == nil {
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			var m map[string]any
			if err == nil && resp.StatusCode != 503 && json.Unmarshal(answer, &m) == nil {
				return resp.StatusCode, m
			}
		}
		pause := time.NewTimer(20 * time.Millisecond)
		<-pause.C
	}
	l.t.Error("an act was never answered")
	return 0, nil
}

func at(m map[string]any, path string) string {
	var v any = m
	for _, k := range strings.Split(path, ".") {
		inner, _ := v.(map[string]any)
		v = inner[k]
	}
	s, _ := v.(string)
	return s
}

// do carries one act out and records it.
func (l *linear) do(client int, in claimInput) claimOutput {
	called := time.Since(l.start).Nanoseconds()
	var out claimOutput
	var m map[string]any
	switch in.verb {
	case "claim":
		out.status, m = l.send(client, "POST", "claims", map[string]any{"protocol_version": "acop/1.0", "work_item_id": in.item,
			"worker_agent_uid": in.worker, "requested_ttl_seconds": 600, "scope": "s"})
		if out.claim = at(m, "claim.claim_id"); out.claim == "" {
			out.claim = at(m, "error.details.current_claim_id")
		}
	case "release":
		out.status, _ = l.send(client, "POST", "claims/"+url.PathEscape(in.claim)+"/release", map[string]any{"protocol_version": "acop/1.0"})
	default:
		out.status, m = l.send(client, "GET", "work-items/"+url.PathEscape(in.item), nil)
		out.claim = at(m, "item.lease.claim.claim_id")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: time.Since(l.start).Nanoseconds()})
	return out
}

// client claims, looks and releases until ctx ends; it leaves nothing held.
func (l *linear) client(ctx context.Context, n int) {
	worker := fmt.Sprint("worker-", n)
	for ctx.Err() == nil {
		item := fmt.Sprint("item ", rand.IntN(linearItems))
		if rand.IntN(8) == 0 {
			l.do(n, claimInput{verb: "read", item: item})
			continue
		}
		out := l.do(n, claimInput{verb: "claim", item: item, worker: worker})
		if out.status == 201 {
			l.do(n, claimInput{verb: "release", item: item, worker: worker, claim: out.claim})
			continue
		}
		pause := time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond)
		<-pause.C
	}
}

// TestClaimsAreLinearizable has 64 clients claim and release while the owner is
// killed and started again: there is an order of all acts in which no item has
// two claims, nothing acknowledged is lost, and each retry got the answer of its
// act (H-013, H-079, H-080, H-085, B44, B46, B61, B62).
func TestClaimsAreLinearizable(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	data := t.TempDir()
	l := &linear{t: t, http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: linearClients}}}
	var list strings.Builder
	for n := range linearClients {
		l.tokens = append(l.tokens, fmt.Sprint("secret-of-worker-", n))
		fmt.Fprintf(&list, "- {identity: worker-%d, role: worker, token: %s}\n", n, l.tokens[n])
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, data, "--tokens", file)
	l.base = s.url
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/acop/v1/")
	s.token = l.tokens[0]
	for i := range linearItems {
		if code, raw, err := s.call("PUT", "work-items", itemDocument(fmt.Sprint("item ", i))); err != nil || code != 201 {
			t.Fatalf("put: %d %s %v", code, raw, err)
		}
	}
	l.start = time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for n := range linearClients {
		clients.Go(func() { l.client(ctx, n) })
	}
	for range 2 {
		phase := time.NewTimer(linearPhase)
		<-phase.C
		s.stop(syscall.SIGKILL)
		s = startServe(t, data, "--tokens", file, "--listen", address)
	}
	phase := time.NewTimer(linearPhase)
	<-phase.C
	cancel()
	clients.Wait()

	granted := make(map[string]int)
	acts := map[string]int{}
	for _, o := range l.ops {
		in, out := o.Input.(claimInput), o.Output.(claimOutput)
		acts[fmt.Sprint(in.verb, " ", out.status)]++
		if in.verb == "claim" && out.status == 201 {
			granted[out.claim]++
		}
	}
	t.Logf("%d acts: %v", len(l.ops), acts)
	result, info := porcupine.CheckOperationsVerbose(oneHolder, l.ops, 30*time.Second)
	if result == porcupine.Illegal {
		path := filepath.Join(os.TempDir(), "claims-not-linearizable.html")
		_ = porcupine.VisualizePath(oneHolder, info, path)
		t.Errorf("no order of the acts explains their answers; see %s", path)
	} else if result == porcupine.Unknown {
		t.Error("the history could not be checked in time")
	}
	s.token = l.tokens[0]
	logged := 0
	for i := range linearItems {
		code, raw, err := s.call("GET", "work-items/"+url.PathEscape(fmt.Sprint("item ", i)), nil)
		var d struct {
			Claims []struct {
				ID string `json:"claim_id"`
			} `json:"claims"`
		}
		if err != nil || code != 200 || json.Unmarshal(raw, &d) != nil {
			t.Fatalf("read back: %d %v", code, err)
		}
		for _, c := range d.Claims {
			logged++
			if granted[c.ID] != 1 {
				t.Errorf("claim %s is in the log and was acknowledged %d times", c.ID, granted[c.ID])
			}
		}
	}
	if logged != len(granted) {
		t.Errorf("%d claims in the log, %d acknowledged", logged, len(granted))
	}
	if acts["claim 201"] < 30 || acts["claim 409"] == 0 {
		t.Errorf("hardly anything happened: %v", acts)
	}
}
