// Package load measures the dashboard under the load it must bear: 10 000 work
// items, 200 workers and 50 tasks that stream 20 000 chunks a second, in a real
// program that draws to nowhere.
//
// It holds measurements alone:
//
//	go test ./ui/load ./ui ./model/fleet -run '^$' -bench 'Load|View|Apply|Key'
//	SIGNALBOX_SOAK=10m go test ./ui/load -run TestSoak -v -timeout 20m
//
// The first prints the figures of docs/benchmarks.md, section "Dashboard"; the
// second plays the load for the given time and fails if memory or goroutines
// grow. It knows nothing of sockets: the clients have measurements of their own.
package load
