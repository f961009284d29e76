package acmp

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"signalbox/model/acmp"
)

// foreignWords are the terms of the libraries beneath, which say nothing to a person.
var foreignWords = []string{"jsontext", "json:", "net/http", "HTTP/1", "transport", "malformed", "EOF", "tls:", "invalid character", "error 0"}

func plain(t *testing.T, what, msg string) {
	t.Helper()
	for _, w := range foreignWords {
		if strings.Contains(msg, w) {
			t.Errorf("%s: %q holds %q", what, msg, w)
		}
	}
	if msg == "" {
		t.Errorf("%s: nothing is said", what)
	}
}

// What a provider answers that is no answer is told in words for people.
func TestBadAnswersInPlainWords(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w *answerWriter){
		"no JSON":  func(w *answerWriter) { w.event("<html>") },
		"cut JSON": func(w *answerWriter) { w.event(`{"jsonrpc":"2.0"`) },
		"a list":   func(w *answerWriter) { w.event(`[1]`) },
		"no code": func(w *answerWriter) {
			w.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"message":"m"}}`, w.req.ID))
		},
		"code is a word": func(w *answerWriter) {
			w.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":"x"}}`, w.req.ID))
		},
		"whole, no JSON": func(w *answerWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w.ResponseWriter, "<html>")
		},
	} {
		p := newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) { answer(w) })
		b, rec := newBuyer(t, p.URL, nil)
		inv := invocation(nil)
		inv.NoRetry = true
		ev := last(rec.outcome(t, invoke(t, b, inv)))
		if ev.Err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		plain(t, name, ev.Err.Error())
	}
}

// The same of what answers and is no provider at all.
func TestNoHTTPInPlainWords(t *testing.T) {
	t.Parallel()
	say := func(text string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 4096))
				_, _ = io.WriteString(c, text)
				c.Close()
			}
		}()
		return l.Addr().String()
	}
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for name, url := range map[string]string{
		"banner": "http://" + say("SSH-2.0-OpenSSH_9.6\r\n"), "closed": "http://" + say(""),
		"half a head": "http://" + say("HTTP/1.1 200 OK\r\nContent-"), "bad status": "http://" + say("HTTP/1.1 abc\r\n\r\n"),
		"plain behind https": "https://" + strings.TrimPrefix(web.URL, "http://"), "no TLS": "https://" + say("hello"),
	} {
		b, _ := newBuyer(t, url, nil)
		_, err := b.Settings(t.Context(), "p")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		msg := strings.ReplaceAll(err.Error(), url, "")
		plain(t, name, msg)
	}
	plain(t, "no code", (&acmp.Error{Message: "m"}).Error())
}

// A URL without a path that leads nowhere is told that a path is missing.
func TestMissingPathIsTold(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for _, url := range []string{web.URL, web.URL + "/", web.URL + "/elsewhere"} {
		b, _ := newBuyer(t, url, nil)
		_, err := b.Settings(t.Context(), "p")
		if told := err != nil && strings.Contains(err.Error(), "/mcp"); told == strings.HasSuffix(url, "elsewhere") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
