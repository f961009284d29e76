package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acop"
)

// agentRig is a real owner in a process of its own, with the two ways in which
// agents reach it.
type agentRig struct {
	t     *testing.T
	state string // XDG_STATE_HOME of everything
	box   *served
}

// newAgentRig starts the real binary as the local box of a state folder.
func newAgentRig(t *testing.T, args ...string) *agentRig {
	t.Helper()
	state := t.TempDir()
	return &agentRig{t: t, state: state, box: startServe(t, filepath.Join(state, "signalbox", "box"), args...)}
}

func (r *agentRig) env() []string { return append(os.Environ(), "XDG_STATE_HOME="+r.state) }

func (r *agentRig) mcpURL() string { return strings.TrimSuffix(r.box.url, "/acop/v1/") + "/mcp" }

// command is `signalbox args...` on the rig's state.
func (r *agentRig) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary(r.t), args...)
	cmd.Env = r.env()
	return cmd
}

// token makes a credential at the running box.
func (r *agentRig) token(identity string, role acop.Role) string {
	r.t.Helper()
	out, err := r.command("token", "add", identity, "--role", string(role)).Output()
	if err != nil {
		r.t.Fatalf("token add: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// transports are the ways in; each makes a transport for an agent of that name.
var transports = map[string]func(r *agentRig, identity string) sdk.Transport{
	"stdio": func(r *agentRig, identity string) sdk.Transport {
		return &sdk.CommandTransport{Command: r.command("mcp", "--as", identity)}
	},
	"http": func(r *agentRig, identity string) sdk.Transport {
		return &sdk.StreamableClientTransport{Endpoint: r.mcpURL(), HTTPClient: bearer(r.token(identity, acop.RoleWorker))}
	},
}

// bearer is an HTTP client that sends a token.
func bearer(token string) *http.Client { return &http.Client{Transport: withToken(token)} }

type withToken string

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// agent is one MCP client.
type agent struct {
	t    *testing.T
	name string
	*sdk.ClientSession
}

func (r *agentRig) connect(identity string, tr sdk.Transport) *agent {
	r.t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(r.t.Context(), tr, nil)
	if err != nil {
		r.t.Fatalf("%s connects: %v", identity, err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	return &agent{t: r.t, name: identity, ClientSession: s}
}

// told is a tool's result as a client sees it.
type told struct {
	text     string
	isError  bool
	You      string `json:"you"`
	Warnings []string
	Claims   []struct {
		ClaimID     string    `json:"claim_id"`
		WorkItemID  string    `json:"work_item_id"`
		Expires     acop.Time `json:"expires_at_utc"`
		SecondsLeft int64     `json:"seconds_left"`
		AutoRenew   bool      `json:"auto_renew"`
	} `json:"your_claims"`
	Lost []struct {
		ClaimID string           `json:"claim_id"`
		Status  acop.ClaimStatus `json:"claim_status"`
		By      string           `json:"by"`
		Reason  string           `json:"reason"`
	} `json:"lost_claims"`
	Error *struct {
		Code    acop.Code      `json:"code"`
		Next    string         `json:"next"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	Claim     *acop.Claim `json:"claim"`
	Status    acop.Status `json:"work_item_status"`
	WorkItems []struct {
		WorkItemID string `json:"work_item_id"`
	} `json:"work_items"`
	AlsoReady []struct {
		WorkItemID string `json:"work_item_id"`
	} `json:"also_ready"`
	WorkItem *acop.WorkItem `json:"work_item"`
	Item     *acop.Item     `json:"item"`
	Entries  []acop.Posted  `json:"entries"`
	Entry    *acop.BlackboardEntry
}

// try calls a tool; args is JSON.
func (a *agent) try(tool, args string) told {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	res, err := a.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		a.t.Fatalf("%s calls %s: %v", a.name, tool, err)
	}
	out := told{isError: res.IsError}
	for _, c := range res.Content {
		if tc, ok := c.(*sdk.TextContent); ok {
			out.text += tc.Text
		}
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		a.t.Fatalf("%s: the structured result: %v\n%s", tool, err, raw)
	}
	return out
}

// must calls a tool and demands success.
func (a *agent) must(tool, args string) told {
	a.t.Helper()
	out := a.try(tool, args)
	if out.isError || out.Error != nil {
		a.t.Fatalf("%s calls %s(%s): %s", a.name, tool, args, out.text)
	}
	return out
}

// refused calls a tool and demands a refusal with this code and a remedy.
func (a *agent) refused(code acop.Code, tool, args string) told {
	a.t.Helper()
	out := a.try(tool, args)
	switch {
	case !out.isError || out.Error == nil || out.Error.Code != code:
		a.t.Fatalf("%s(%s): want %s, got %s", tool, args, code, out.text)
	case out.Error.Next == "" || !strings.Contains(out.text, "What to do: "):
		a.t.Errorf("%s(%s): no remedy in %s", tool, args, out.text)
	}
	return out
}

// put offers an item as the lead.
func (r *agentRig) put(id string, more map[string]any) {
	r.t.Helper()
	doc := itemDocument(id)
	doc["work_item"].(map[string]any)["title"] = "Do " + id
	for k, v := range more {
		doc[k] = v
	}
	if status, raw, err := r.box.call(http.MethodPut, "work-items", doc); err != nil || status != http.StatusCreated {
		r.t.Fatalf("put %s: %d %s %v", id, status, raw, err)
	}
}

// item reads an item as the lead.
func (r *agentRig) item(id string) *acop.Item {
	r.t.Helper()
	status, raw, err := r.box.call(http.MethodGet, "work-items/"+id, nil)
	var d acop.Detail
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil || status != http.StatusOK {
		r.t.Fatalf("read %s: %d %s %v", id, status, raw, err)
	}
	return d.Item
}

// both runs a test over both transports.
func both(t *testing.T, test func(t *testing.T, r *agentRig, dial func(identity string) *agent)) {
	for name, tr := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newAgentRig(t)
			test(t, r, func(identity string) *agent { return r.connect(identity, tr(r, identity)) })
			if code := r.box.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("the owner ends with %d on SIGTERM\n%s", code, r.box.log.String())
			}
			if strings.Contains(r.box.log.String(), "panic") {
				t.Errorf("something panicked:\n%s", r.box.log.String())
			}
		})
	}
}

// shell runs a line as an agent runs its hooks.
func shell(line string) *exec.Cmd { return exec.Command("/bin/sh", "-c", line) }
