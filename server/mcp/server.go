package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acop"
)

// DefaultStaleAfter is how long after its agent's last sign of life a process on
// stdio goes on renewing.
const DefaultStaleAfter = 15 * time.Minute

// Options say what a server is made of.
type Options struct {
	// Owner is the owner as the one agent on stdio reaches it.
	Owner Owner
	// OwnerFor is the owner as an identity reaches it with the token of its
	// request, for HTTP.
	OwnerFor func(identity, token string) Owner
	// StaleAfter bounds renewing on stdio without a sign of life of the agent; 0
	// means [DefaultStaleAfter].
	StaleAfter time.Duration
	// Version of the program, as clients see it.
	Version string
	// Log receives what an operator should know; nil discards it. Arguments and
	// tokens never stand in it.
	Log *slog.Logger
}

// Server serves the tools and resources. Make it with [New].
type Server struct {
	opts   Options
	tools  map[string]tool
	server *sdk.Server
	keeper *keeper
	log    *slog.Logger
}

// New makes a server. It starts nothing.
func New(o Options) *Server {
	if o.StaleAfter <= 0 {
		o.StaleAfter = DefaultStaleAfter
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: o, tools: map[string]tool{}, log: o.Log, keeper: newKeeper(o.StaleAfter, o.Log)}
	s.keeper.stateless = o.Owner == nil
	s.server = sdk.NewServer(&sdk.Implementation{Name: "signalbox", Title: "Signalbox: coordinated work", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		// Neither tools nor templates ever change, and nothing is logged to clients.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		// What one identity reads is not for another one's cache.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	for _, t := range tools() {
		s.tools[t.about.Name] = t
		s.server.AddTool(&t.about, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return s.call(ctx, t, req)
		})
	}
	s.addResources()
	s.server.AddReceivingMiddleware(s.nameTools, refuseSubscriptions, helpToResources)
	return s
}

// nameTools tells a caller of an unknown tool which there are: the SDK's own
// refusal names only the wrong one.
func (s *Server) nameTools(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if p, isCall := req.GetParams().(*sdk.CallToolParamsRaw); isCall && method == "tools/call" {
			if _, known := s.tools[p.Name]; !known {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
					Message: fmt.Sprintf("there is no tool %q here; call one of %s", clip(p.Name, 60), strings.Join(s.toolNames(), ", "))}
			}
		}
		return next(ctx, method, req)
	}
}

// refuseSubscriptions tells a client that asks for news of resources that there are
// none: the SDK would agree to nothing, which its own client takes for a yes. Whoever
// watches has the owner's event stream, which misses nothing and can be resumed; an
// agent learns what concerns it from each result.
func refuseSubscriptions(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if p, asks := req.GetParams().(*sdk.SubscriptionsListenParams); asks && p != nil && p.Notifications != nil && len(p.Notifications.ResourceSubscriptions) > 0 {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
				Message: "resources have no subscriptions here; read them again, or follow the owner's event stream"}
		}
		return next(ctx, method, req)
	}
}

func (s *Server) toolNames() []string {
	var names []string
	for n := range s.tools {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// maxMessage bounds one message in bytes: arguments of the largest size with
// room for what stands around them.
const maxMessage = 2 * maxArguments

const bodyPatience = 10 * time.Second // for a sender to finish a message (B87)

// Handler serves MCP over Streamable HTTP. It keeps no sessions, so that none can
// pile up (B81). who tells the identity and the token of a request that has
// passed the owner's checks; the handler must stand behind them.
func (s *Server) Handler(who func(*http.Request) (identity, token string)) http.Handler {
	stream := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.server }, &sdk.StreamableHTTPOptions{
		Stateless:                    true,
		MaxRequestBodyBytes:          maxMessage,
		PropagateRequestCancellation: true,
		Logger:                       slog.New(slog.DiscardHandler), // the SDK logs whole messages
		DisableLocalhostProtection:   true,                          // the owner's checks know which hosts are allowed
	})
	verify := func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		identity, token := who(r)
		return &auth.TokenInfo{UserID: identity, Expiration: time.Now().Add(time.Hour), Extra: map[string]any{tokenKey: token}}, nil
	}
	in := auth.RequireBearerToken(verify, nil)(stream)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(bodyPatience)) // not every writer has one
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if err == nil { // else it stays: net/http would wait for the rest of the body without end
			_ = rc.SetReadDeadline(time.Time{})
		}
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			http.Error(w, fmt.Sprintf("the message is larger than %d bytes", maxMessage), http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			http.Error(w, "the message did not arrive whole", http.StatusBadRequest)
			return
		}
		if refuseUnreadable(w, body) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		in.ServeHTTP(w, r)
	})
}

const tokenKey = "signalbox.token"

// ServeStdio serves the one agent at the other end of in and out, one message a
// line, and renews its leases, until in ends or ctx is over. The claims stay:
// without renewal they end by themselves.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	ctx, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.keeper.run(ctx, s.opts.Owner)
	}()
	shared := &answers{WriteCloser: out}
	asked := newMessages(in, shared)
	served := make(chan error, 1)
	go func() {
		// The length of a line is bounded by messages, which answers to one that is too long.
		served <- s.server.Run(ctx, &sdk.IOTransport{Reader: asked, Writer: shared, MaxLineLength: -1})
	}()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		err = s.leave(served)
	case <-asked.ended:
		err = s.leave(served)
	}
	stop()
	<-kept
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// leave waits for the end of the serving, but not for an agent that reads no answers:
// its writing cannot be ended but with the process.
func (s *Server) leave(served <-chan error) error {
	select {
	case err := <-served:
		return err
	case <-time.After(leaveTime):
		s.log.Warn("the agent does not read its answers; they are dropped")
		return nil
	}
}

const leaveTime = time.Second

// call is one tool call on its way.
type call struct {
	s     *Server
	owner Owner
	who   string
	http  bool
	tool  string
}

// enter finds out who calls. Over HTTP that is the identity of the token.
func (s *Server) enter(ctx context.Context, name string, extra *sdk.RequestExtra) (*call, *acop.Error) {
	c := &call{s: s, owner: s.opts.Owner, tool: name}
	if extra != nil && extra.TokenInfo != nil && s.opts.OwnerFor != nil {
		token, _ := extra.TokenInfo.Extra[tokenKey].(string)
		c.http, c.who, c.owner = true, extra.TokenInfo.UserID, s.opts.OwnerFor(extra.TokenInfo.UserID, token)
		return c, nil
	}
	var err error
	if c.who, err = c.owner.Identity(ctx); err != nil {
		return c, refusalOf(err)
	}
	return c, nil
}

// call carries out one tool call. What goes wrong is told in the result, where
// the model sees it, and never as a failure of the protocol.
func (s *Server) call(ctx context.Context, t tool, req *sdk.CallToolRequest) (out *sdk.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a tool failed unexpectedly", "tool", t.about.Name, "panic", p, "stack", string(debug.Stack()))
			out = s.refuse(t, nil, &standing{}, acop.Errorf(acop.CodeInternal, "something unexpected went wrong in the tool"))
		}
	}()
	s.keeper.alive()
	c, refused := s.enter(ctx, t.about.Name, req.Extra)
	if refused != nil {
		return s.refuse(t, nil, &standing{}, refused), nil
	}
	res, said, refused := t.run(ctx, c, req.Params.Arguments)
	if ctx.Err() != nil {
		return nil, ctx.Err() // cancelled: nobody waits for the result
	}
	st := s.standing(ctx, c)
	if refused != nil {
		return s.refuse(t, res, st, refused), nil
	}
	st.Warnings = append(res.common().Warnings, st.Warnings...)
	*res.common() = *st
	return answer(t.about.Name, res, clip(said, mostSaid)+"\n"+st.text(), false), nil
}

// refuse makes the result of a refused call; res may hold what helps further.
func (s *Server) refuse(t tool, res result, st *standing, e *acop.Error) *sdk.CallToolResult {
	if res == nil {
		res = t.blank()
	}
	f := faultOf(t.about.Name, st.You, e)
	st.Error = f
	*res.common() = *st
	said := fmt.Sprintf("Refused (%s): %s\nWhat to do: %s", f.Code, sentence(f.Message), sentence(f.Next))
	if more, ok := res.(*claimResult); ok && len(more.AlsoReady) > 0 {
		said += "\nAlso ready:" + lines(more.AlsoReady)
	}
	if st.You != "" {
		said += "\n" + st.text()
	}
	return answer(t.about.Name, res, said, true)
}

// sentence ends s with a mark, unless it has one.
func sentence(s string) string {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// answer puts a result together, in a size that a model can read.
func answer(tool string, res result, said string, isError bool) *sdk.CallToolResult {
	raw, err := json.Marshal(res)
	if err != nil {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "internal_error: the result could not be written"}}}
	}
	said = clip(said, 2*mostSaid) // with what the caller holds
	if len(raw) > mostResult {
		short, left := shorten(tree(raw), mostResult)
		shown := first(left, mostLeftOut)
		said += leftOut(tool, shown, len(left)-len(shown))
		if m, isObject := short.(map[string]any); isObject {
			m["left_out"] = shown
		}
		if raw, err = json.Marshal(short); err != nil {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "internal_error: the result could not be written"}}}
		}
	}
	return &sdk.CallToolResult{IsError: isError, StructuredContent: json.RawMessage(raw), Content: []sdk.Content{&sdk.TextContent{Text: said}}}
}

// standing reads what the caller holds, renews it over HTTP, and tells what was
// lost since it was last told.
func (s *Server) standing(ctx context.Context, c *call) *standing {
	st := &standing{You: c.who}
	held, err := c.owner.Claims(ctx, c.who)
	if err != nil { // not to know is not to hold nothing
		st.Warnings = append(st.Warnings, "what you hold could not be read now; ask with "+toolClaims+" before you go on")
		return st
	}
	st.YourClaims = []holding{}
	s.keeper.observe(c.who, held)
	if c.http && s.keeper.renewAll(ctx, c.owner, c.who, held) {
		if again, err := c.owner.Claims(ctx, c.who); err == nil {
			held = again
			s.keeper.observe(c.who, held)
		}
	}
	for i := range held.Claims {
		st.YourClaims = append(st.YourClaims, s.keeper.holding(c.who, held.AtUTC, &held.Claims[i], c.http))
		if w := contradiction(&held.Claims[i]); w != "" {
			st.Warnings = append(st.Warnings, w)
		}
	}
	st.LostClaims = s.keeper.losses(ctx, c.owner, c.who)
	return st
}
