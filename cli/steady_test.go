package cli

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports of steadyAddr lie below those a system gives out by itself.
const (
	firstSteady = 20000
	lastSteady  = 32000
)

// steadyAddr is a free address on loopback that stays free while nobody listens
// there: port 0 would pick one that the next connection of any test may be given
// before a server that was ended is back on it.
func steadyAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstSteady+rand.IntN(lastSteady-firstSteady)))
		if l, err := net.Listen("tcp", at); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return at
		}
	}
	t.Fatal("no free port below the ephemeral ones")
	return ""
}
