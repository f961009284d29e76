package acop

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	core "signalbox/model/acop"
)

// answerPatience bounds writing an ordinary answer; event streams move their
// own deadline with every frame.
const answerPatience = 30 * time.Second

// visit is one request on its way through the edge.
type visit struct {
	s      *Server
	w      *recorder
	r      *http.Request
	route  *route
	segs   []string // decoded path segments
	id     string   // the wildcard, if the route has one
	caller Caller
	compat bool // came in at the compat mount
}

// recorder remembers the status for the metrics, and whether the answer has begun.
// It passes everything else on.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter: the first one without a status means 200.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// serve takes a request through the checks in the order of D-62: route,
// credential, size, media type, JSON, version, idempotency, schema, and then
// the decisions. Host and Origin come before everything (B103).
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	v := &visit{s: s, w: rec, r: r}
	name := "none"
	defer func() { v.end(name, recover()) }()
	s.bound(rec, r)
	if refused := s.checkOrigin(r); refused != nil {
		v.refuse(refused)
		return
	}
	if s.operation(rec, r) {
		name = "operation"
		return
	}
	ep, refused := v.find()
	if refused != nil {
		v.refuse(refused)
		return
	}
	name = v.route.name
	if refused = v.enter(); refused == nil {
		refused = v.checkQuery()
	}
	if refused != nil {
		v.refuse(refused)
		return
	}
	if ep.read != nil {
		ep.read(v)
		return
	}
	v.act(ep)
}

// bound gives an answer its time, and from the first check on a body too: net/http
// waits for the rest of what a refusal left unread (B87).
func (s *Server) bound(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(s.opts.answerIn)) // not every writer has deadlines
	if r.ContentLength != 0 {
		_ = rc.SetReadDeadline(time.Now().Add(bodyPatience))
	}
}

// enter checks credential, rate and the ids in the path. The route is not
// needed: other handlers of the owner share it ([Server.Guard]).
func (v *visit) enter() *core.Error {
	caller, refused := v.s.authenticate(v.r)
	if refused != nil {
		if refused.Code == core.CodeUnauthenticated {
			v.w.Header().Set("WWW-Authenticate", "Bearer")
		}
		return refused
	}
	v.caller = caller
	if !v.s.allow(caller) {
		e := core.Errorf(core.CodeRateLimited, "too many requests from this identity")
		e.RetryAfterSeconds = 1
		return e
	}
	if !usableText(v.id) {
		return violation("the id in the path is not valid text")
	}
	return nil
}

// authenticate reads the one bearer token of a request (H-072..H-076, B76).
func (s *Server) authenticate(r *http.Request) (Caller, *core.Error) {
	hs := r.Header.Values("Authorization")
	if len(hs) != 1 {
		return Caller{}, unauthenticated()
	}
	scheme, token, found := strings.Cut(hs[0], " ")
	token = strings.TrimLeft(token, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Caller{}, unauthenticated()
	}
	if c, known := s.opts.Tokens.lookup(token); known {
		return c, nil
	}
	if s.oidc != nil && looksLikeJWT(token) {
		return s.oidc.lookup(r.Context(), token)
	}
	return Caller{}, unauthenticated()
}

// checkOrigin refuses requests that a web page made a browser send (B103).
func (s *Server) checkOrigin(r *http.Request) *core.Error {
	if !s.opts.AnyHost && !loopback(r.Host) {
		return core.Errorf(core.CodeOriginRefused, "this owner is not reached under that host name")
	}
	for _, o := range r.Header.Values("Origin") {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || u.Host != r.Host {
			return core.Errorf(core.CodeOriginRefused, "requests of other web pages are refused")
		}
	}
	return nil
}

// loopback tells whether a Host header names this machine itself.
func loopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// find picks the route by the escaped path, so that an encoded slash stays part
// of its id, and nothing is ever cleaned or redirected (H-006, H-007).
func (v *visit) find() (*endpoint, *core.Error) {
	notFound := core.Errorf(core.CodeRouteNotFound, "there is nothing at this path")
	rest, inside := strings.CutPrefix(v.r.URL.EscapedPath(), v.s.base)
	if !inside && v.s.opts.Config.Compat {
		rest, v.compat = strings.CutPrefix(v.r.URL.EscapedPath(), compatBase)
	}
	if !inside && !v.compat {
		return nil, notFound
	}
	raw := strings.Split(rest, "/")
	for _, seg := range raw {
		dec, err := url.PathUnescape(seg)
		if err != nil || seg == "" || seg == "." || seg == ".." {
			return nil, notFound
		}
		v.segs = append(v.segs, dec)
	}
	for i := range routes {
		if routes[i].matches(v.segs) {
			v.route = &routes[i]
			break
		}
	}
	if v.route == nil {
		return nil, notFound
	}
	for i, seg := range v.route.path {
		if seg == wildcard {
			v.id = v.segs[i]
		}
	}
	method := v.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	ep, known := v.route.methods[method]
	if v.compat && compatRoutes[method+" "+v.route.name] == nil {
		return nil, notFound
	}
	if !known {
		v.w.Header().Set("Allow", v.route.allow())
		return nil, core.Errorf(core.CodeMethodNotAllowed, "this path does not take that method; it takes %s", v.route.allow())
	}
	return ep, nil
}

const wildcard = "{id}"

// route is one path of the owner.
type route struct {
	name    string
	path    []string
	methods map[string]*endpoint
}

// endpoint is what a method of a route does: a read, or an act with its body.
type endpoint struct {
	read  func(*visit)
	parse bodyParser
}

func (rt *route) matches(segs []string) bool {
	if len(segs) != len(rt.path) {
		return false
	}
	for i, p := range rt.path {
		if p != wildcard && p != segs[i] {
			return false
		}
	}
	return true
}

func (rt *route) allow() string {
	var ms []string
	for m := range rt.methods {
		ms = append(ms, m)
		if m == http.MethodGet {
			ms = append(ms, http.MethodHead)
		}
	}
	slices.Sort(ms)
	return strings.Join(ms, ", ")
}

// routes are all paths below the base.
var routes = makeRoutes()

func makeRoutes() []route {
	get := func(f func(*visit)) *endpoint { return &endpoint{read: f} }
	var rs []route
	add := func(path string, methods map[string]*endpoint) {
		rs = append(rs, route{name: path, path: strings.Split(path, "/"), methods: methods})
	}
	post := func(path string, p bodyParser) { add(path, map[string]*endpoint{http.MethodPost: {parse: p}}) }

	add("work-items", map[string]*endpoint{http.MethodGet: get(readItems), http.MethodPut: {parse: parsePut}})
	add("work-items/{id}", map[string]*endpoint{http.MethodGet: get(readItem)})
	add("claims", map[string]*endpoint{http.MethodGet: get(readClaims), http.MethodPost: {parse: parseClaim}})
	add("claims/{id}", map[string]*endpoint{http.MethodGet: get(readClaim)})
	add("claim-intents", map[string]*endpoint{http.MethodGet: get(readIntents)})
	add("blackboard", map[string]*endpoint{http.MethodGet: get(readBoard), http.MethodPost: {parse: parsePost}})
	add("blackboard/{id}", map[string]*endpoint{http.MethodGet: get(readEntry)})
	add("agents", map[string]*endpoint{http.MethodGet: get(readAgents)})
	add("pickup", map[string]*endpoint{http.MethodGet: get(readPickup)})
	add("snapshot", map[string]*endpoint{http.MethodGet: get(readSnapshot)})
	add("events", map[string]*endpoint{http.MethodGet: get(readEvents)})
	add("settings", map[string]*endpoint{http.MethodGet: get(readSettings),
		http.MethodPut: {parse: small(core.VerbSettings, "settings", onOwner)}})

	post("claims/{id}/renew", small(core.VerbRenew, "renew", onClaim))
	post("claims/{id}/release", small(core.VerbRelease, "release", onClaim))
	post("claims/{id}/complete", small(core.VerbComplete, "complete", onClaim))
	post("claims/{id}/heartbeat", small(core.VerbHeartbeat, "heartbeat", onClaim))
	post("claims/{id}/revoke", small(core.VerbRevoke, "revoke", onClaim))
	post("work-items/{id}/accept", small(core.VerbAccept, "accept", onItem))
	post("work-items/{id}/cancel", small(core.VerbCancel, "cancel", onItem))
	post("work-items/{id}/supersede", small(core.VerbSupersede, "supersede", onItem))
	post("work-items/{id}/send-back", small(core.VerbSendBack, "send_back", onItem))
	post("work-items/{id}/block", small(core.VerbBlock, "block", onItem))
	post("work-items/{id}/unblock", small(core.VerbUnblock, "unblock", onItem))
	post("work-items/{id}/resolve", small(core.VerbResolve, "resolve", onItem))
	post("work-items/{id}/requeue", small(core.VerbRequeue, "note", onItem))
	post("work-items/{id}/consume", small(core.VerbConsume, "note", onItem))
	post("claim-intents/{id}/grant", small(core.VerbGrant, "grant", onIntent))
	post("claim-intents/{id}/deny", small(core.VerbDeny, "deny", onIntent))
	return rs
}
