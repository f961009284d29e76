package acmp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// foreign says why a request may come from a web page that has no business here;
// "" when it does not (A-035, B103). A loopback endpoint answers to loopback names
// only, and an Origin, which only browsers send, must be the endpoint's own.
func (p *Provider) foreign(r *http.Request) string {
	if onLoopback(r) && !isLoopbackHost(r.Host) && !slices.Contains(p.opts.AllowedHosts, hostOnly(r.Host)) {
		return "the Host header does not name this endpoint"
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return ""
	}
	for _, o := range origins {
		u, err := url.Parse(o)
		own := err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
		if !own && !slices.Contains(p.opts.AllowedOrigins, o) {
			return "the Origin header is not allowed"
		}
	}
	return ""
}

func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopbackHost(addr.String())
}

func hostOnly(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.Trim(host, "[]")
}

func isLoopbackHost(hostport string) bool {
	host := hostOnly(hostport)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
