// Package acop is how this program reaches a coordination owner: every act of
// the binding and of the owner's extensions as one call ([Client.Do]), the reads
// ([Client.Snapshot], [Client.Detail], ...), the live event stream
// ([Client.Watch], [Client.Events]) and a keeper that holds a lease
// ([Client.Keep]).
//
// It must not know the server's packages or any screen: it turns HTTP into the
// values of model/acop and model/fleet and nothing else. The owner is a remote
// party: answers are bounded in size, unknown members are ignored, unknown error
// codes are judged by their HTTP status, and values outside the closed sets of
// ACOP core 1.x are reported as a protocol error instead of guessed at.
//
// # Rules kept here
//
//   - Paths are relative to the base URL, ids are percent-encoded per segment,
//     redirects are never followed (H-005, H-006, B73).
//   - One Idempotency-Key per act, the same over all tries (H-019, B46).
//   - Only retryable failures are tried again, after 500 ms doubling to 30 s,
//     and never before what Retry-After asks for (H-067 to H-069, B78).
//   - Connect, headers and silence are bounded; a stream has no overall limit
//     (B29, B30).
//   - The token is asked for per request and stands in no error and no log.
//
// # Concurrency
//
// A [Client] is safe for concurrent use. Every call blocks on the network and
// returns when its context ends. Watch, Events and a [Keeper] run in the
// goroutines that are documented there; callbacks come from one goroutine at a
// time, in order, and may block: a slow callback slows the stream and is in the
// end told "lost" by the owner, which leads to a new snapshot.
//
// # Testing
//
// httptest servers that check every request against a table stand for the owner;
// everything that depends on time runs in synctest on a fake http.RoundTripper.
package acop
