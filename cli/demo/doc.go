// Package demo is the simulated world of `signalbox demo`: a producer with a
// story, a conductor, ten workers with habits good and bad, and two providers.
// All of them speak to the owner and to the providers over real sockets only,
// each as its own identity with its own token and its own clients, so that the
// lead's acts change what they do in the way they would change real agents: a
// revoked worker finds its next renewal refused, stops and says so.
//
// It must not know the dashboard, nor reach into the owner: everything it does
// could be done by a program on another machine.
//
// # Concurrency
//
// [Run] blocks until its context ends and every goroutine it started has ended.
// [OpenProviders] serves until [Providers.Close].
//
// # Testing
//
// The same seed gives the same story and the same choices of each worker; what
// depends on the clock and on the order in which the owner hears them does not.
// The test in package cli runs the world against a real owner for some seconds.
package demo
