package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"signalbox/model/text"
)

// checkListen tells an address from what is none.
func checkListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address to listen on; give HOST:PORT such as 127.0.0.1:7180", text.ID(address))
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%s is no address to listen on: the port must be a number from 0 to 65535", text.ID(address))
	}
	return nil
}

// addressTaken is the failure to listen where something else does.
type addressTaken struct{ text string }

func (e *addressTaken) Error() string { return e.text }

// listen takes a TCP address that checkListen has passed. The error is of usage and
// says what to do; it wraps *addressTaken where another program has the address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, failf(exitUsage, "%w", &addressTaken{fmt.Sprintf("cannot listen on %s: another program does; give another --listen, port 0 picks a free one", address)})
	case errors.Is(err, syscall.EACCES):
		return nil, failf(exitUsage, "cannot listen on %s: this user may not; give a port above 1023", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, failf(exitUsage, "cannot listen on %s: this machine does not have that address", address)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // the rest repeats the address
	}
	return nil, failf(exitUsage, "cannot listen on %s: %w", address, err)
}

// reachable is an address at which this machine reaches the listener.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// loopbackAddress reports whether only this machine can reach addr.
func loopbackAddress(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
