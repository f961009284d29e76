// Package acmp holds the values and rules of ACMP layer 1: the messages, the
// capability declaration, the error codes, the life of a task and the
// arithmetic of deadline and liveness.
//
// It knows nothing of MCP's transports, of goroutines or of the clock: whatever
// depends on time takes the instant as an argument. Both ends of the protocol
// and the dashboard use these types.
//
// # Concurrency
//
// Values are plain data; all functions are pure and safe for concurrent use.
package acmp
