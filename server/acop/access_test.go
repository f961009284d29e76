package acop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAuth reads the one bearer token (H-072, H-076, H-078, B76, B105).
func TestAuth(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	tok := b.tokens["reader-01"]
	cases := map[string]bool{"bearer " + tok: true, "BEARER " + tok: true, "Bearer " + tok: true, "Bearer " + strings.ToUpper(tok): false,
		"Bearer": false, "Bearer ": false, "Basic " + tok: false, tok: false, "Bearer " + tok + " x": false, "Bearer " + tok[:10]: false}
	for h, good := range cases {
		r := b.do("GET", "snapshot", "", nil, header{"Authorization": h})
		if good {
			b.want(r, 200, "")
			continue
		}
		b.want(r, 401, "unauthenticated")
		if r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Error("no WWW-Authenticate")
		}
	}
	req := httptest.NewRequest("GET", DefaultBasePath+"snapshot", nil)
	req.Host = "127.0.0.1"
	req.Header["Authorization"] = []string{"Bearer " + tok, "Bearer " + tok}
	w := httptest.NewRecorder()
	b.owner.Handler().ServeHTTP(w, req)
	if w.Code != 401 {
		t.Errorf("two headers: %d", w.Code)
	}
	b.want(b.do("POST", "claims", "", `{"protocol_version":"acop/99.0"}`), 401, "unauthenticated")
	b.do("POST", "claims", "worker-http", `{"protocol_version":"acop/1.0","x":"`+b.tokens["worker-http"]+`"}`)
	for id, secret := range b.tokens {
		if strings.Contains(b.logged.String(), secret) || strings.Contains(fmt.Sprintf("%+v", b.list), secret) {
			t.Errorf("the token of %s is shown", id)
		}
	}
}

// TestOrigin refuses what a web page made a browser send, before anything else
// (B103).
func TestOrigin(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	port := b.http.URL[strings.LastIndex(b.http.URL, ":"):]
	ask := func(method, path, host, origin string) int {
		req := httptest.NewRequest(method, path, nil)
		req.Host = host
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		req.Header.Set("Authorization", "Bearer "+b.tokens["lead-01"])
		w := httptest.NewRecorder()
		b.owner.Handler().ServeHTTP(w, req)
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Error("CORS is answered")
		}
		return w.Code
	}
	for _, path := range []string{DefaultBasePath + "snapshot", DefaultBasePath + "events", "/healthz", "/nothing"} {
		for _, method := range []string{"GET", "OPTIONS"} {
			for host, origin := range map[string]string{"evil.test" + port: "", "127.0.0.1.evil.test": "", "127.0.0.1" + port: "http://evil.test",
				"localhost" + port: "null"} {
				if code := ask(method, path, host, origin); code != 403 {
					t.Errorf("%s %s Host %s Origin %s: %d", method, path, host, origin, code)
				}
			}
		}
	}
	for _, host := range []string{"127.0.0.1" + port, "[::1]" + port, "localhost" + port, "localhost", "[::1]"} {
		if code := ask("GET", DefaultBasePath+"snapshot", host, ""); code != 200 {
			t.Errorf("Host %s: %d", host, code)
		}
		if code := ask("GET", DefaultBasePath+"snapshot", host, "http://"+host); code != 200 {
			t.Errorf("own origin %s: %d", host, code)
		}
	}
}

// TestRoutes answers everything in the one error shape and never redirects
// (H-005, H-007, H-070, H-086, B73).
func TestRoutes(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	for _, p := range []string{"", "nothing", "claims/", "claims//renew", "claims/./renew", "claims/../snapshot", "snapshot/", "work-items/a/b/c", "work-items/a/nothing"} {
		b.want(b.do("POST", p, "", body(nil)), 404, "signalbox.route_not_found")
	}
	r := b.do("DELETE", "claims", "", nil)
	b.want(r, 405, "signalbox.method_not_allowed")
	if r.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow %q", r.header.Get("Allow"))
	}
	if r := b.do("HEAD", "snapshot", "lead-01", nil); r.status != 200 || len(r.raw) != 0 {
		t.Errorf("HEAD: %d %q", r.status, r.raw)
	}
	for _, p := range []string{"/healthz", "/readyz", "/metrics"} {
		resp, err := http.Get(b.http.URL + p)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(p, err, resp)
		}
		resp.Body.Close()
	}
}

// TestSubPath mounts the binding elsewhere (H-005, D-60).
func TestSubPath(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.BasePath = "/x/y/" })
	req, _ := http.NewRequest("GET", b.http.URL+"/x/y/snapshot", nil)
	req.Header.Set("Authorization", "Bearer "+b.tokens["lead-01"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(err, resp)
	}
	resp.Body.Close()
	b.want(b.do("GET", "snapshot", "lead-01", nil), 404, "signalbox.route_not_found")
}

// TestChunked takes a body without Content-Length (H-004).
func TestChunked(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	conn, err := net.Dial("tcp", b.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	payload := mustJSON(claimBody("w", "worker-http", 60))
	fmt.Fprintf(conn, "POST %sclaims HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json; charset=utf-8\r\n"+
		"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n", DefaultBasePath, b.tokens["worker-http"])
	for chunk := range slices.Chunk([]byte(payload), 7) {
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(chunk), chunk)
	}
	fmt.Fprint(conn, "0\r\n\r\n")
	answer, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 201 ")) {
		t.Fatalf("%v %s", err, answer)
	}
}

// TestRateLimit stops one identity without touching the others (H-066).
func TestRateLimit(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.RateLimit = RateLimit{PerSecond: 0.01, Burst: 2} })
	for range 2 {
		b.want(b.do("GET", "settings", "worker-http", nil), 200, "")
	}
	if r := b.do("GET", "settings", "worker-http", nil); r.code() != "rate_limited" || r.header.Get("Retry-After") != "1" {
		t.Errorf("%v %s", r.header, r.raw)
	}
	b.want(b.do("GET", "settings", "worker-other", nil), 200, "")
}

// TestRoles lets readers only look, and leads alone do lead verbs (D.4, H-077).
func TestRoles(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	b.want(b.do("PUT", "work-items", "reader-01", body(m{"work_item": workItem("r", nil)})), 403, "forbidden")
	b.want(b.do("PUT", "settings", "worker-http", body(m{"frozen": true})), 403, "forbidden")
	id := b.claim("w", "worker-http", 60)
	for _, who := range []string{"worker-other", "worker-http", "fixture-producer", "reader-01"} {
		b.want(b.verb("claims", id, "revoke", who, m{"reason": "x"}), 403, "forbidden")
		b.want(b.verb("work-items", "w", "cancel", who, m{"reason": "x"}), 403, "forbidden")
	}
	// A lead's refused act is in the log and changes nothing.
	before := b.item("w").at("item.revision")
	b.want(b.verb("work-items", "w", "requeue", "lead-01", nil), 409, "work_item_not_actionable")
	it := b.item("w")
	if it.at("item.revision") != before || b.countEvents("w", "refused") != 1 {
		t.Fatalf("after a refused act: %s", it.raw)
	}
}

// TestBeforeAnyHandler gives the error shape also where net/http answers by
// itself (H-001, H-070, B73, B87).
func TestBeforeAnyHandler(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	for name, c := range map[string]struct {
		raw    string
		status int
		code   string
	}{
		"bad escape":   {"POST " + DefaultBasePath + "work-items/%zz/accept HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "schema_violation"},
		"no host":      {"GET / HTTP/1.1\r\n\r\n", 400, "schema_violation"},
		"two hosts":    {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400, "schema_violation"},
		"nonsense":     {"\x16\x03\x01 hello\r\n\r\n", 400, "schema_violation"},
		"bad length":   {"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", 400, "schema_violation"},
		"bad encoding": {"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: zip\r\n\r\n", 400, "schema_violation"},
		"huge headers": {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 413, "signalbox.payload_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", b.http.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprint(conn, c.raw)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			r, err := b.checked("raw", name, resp, raw)
			if err != nil || r.status != c.status || r.code() != c.code {
				t.Fatalf("%v %d %s", err, r.status, raw)
			}
		})
	}
}
