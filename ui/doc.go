// Package ui is the dashboard: the only package family that imports charm.land.
//
// Update and View are pure: no I/O, no clock, no goroutine, no lock. Facts come
// in as [FactsMsg] from one pump; what a person wants goes out as an act through
// the ports [Owner] and [Buyer], carrying the id and the revision that were on
// screen. Nothing is shown as done before the owner's own event says so.
package ui
