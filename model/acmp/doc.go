// Package acmp holds the values and rules of ACMP layer 1: the messages, the
// capability declaration, the error codes, the life of a task and the
// arithmetic of deadline and liveness.
//
// It knows nothing of MCP's transports, of goroutines or of the clock: whatever
// depends on time takes the instant as an argument. Both ends of the protocol
// and the dashboard use these types.
//
// Prices are decimals ([CompareCU], [Overcharge]), never floats. Peers are
// hostile: numbers, ids, nesting and what is held for order are bounded.
//
// # Concurrency
//
// Values are plain data; all functions are pure and safe for concurrent use.
// [Assembler], [Sequencer] and [OutputOrder] hold state and belong to one
// goroutine at a time.
//
// # Testing
//
// The life of a task is data ([Next]) and tested cell by cell; assembly, order
// and prices by properties; the Python form of a proof against Python itself
// where there is one.
package acmp
