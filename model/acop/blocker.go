package acop

import (
	"regexp"
	"slices"
	"strings"
)

// OwnBlockerPrefix begins every blocker code this program mints (C-024).
const OwnBlockerPrefix = "x.signalbox."

// BlockerAttemptsExhausted is the owner's own code: claims on the item lapsed so
// often in a row that a person should look before another worker takes it.
const BlockerAttemptsExhausted = OwnBlockerPrefix + "attempts_exhausted"

var coreBlockers = []string{
	BlockerSeamExtraction, BlockerHostContract, BlockerBranchConflict, BlockerNoValidationEnv,
	BlockerReviewRequired, BlockerDependency, BlockerExternalDecision, BlockerArtifactMissing,
}

var ownBlocker = regexp.MustCompile(`^x\.signalbox\.[a-z0-9_]+$`)
var vendorBlocker = regexp.MustCompile(`^x\.[a-z0-9_]+\..`)

// ReservedBlockers lists the eight codes of the core.
func ReservedBlockers() []string { return slices.Clone(coreBlockers) }

// ReservedBlocker reports whether code lies in a reserved namespace: one of the
// core's eight, an extension's (orchestration., compliance.) or a vendor's
// (x.<vendor>.). Other codes are accepted and marked (C-021 to C-024).
func ReservedBlocker(code string) bool {
	return slices.Contains(coreBlockers, code) ||
		strings.HasPrefix(code, "orchestration.") || strings.HasPrefix(code, "compliance.") ||
		vendorBlocker.MatchString(code)
}

// OwnBlockerCode reports whether this program may mint code: it lies under
// x.signalbox. (C-023, C-024).
func OwnBlockerCode(code string) bool { return ownBlocker.MatchString(code) }

// NeedsPerson reports whether only a person can remove b: a decision or a review
// is awaited, or the owner gave up on handing the item out.
func (b Blocker) NeedsPerson() bool {
	switch b.BlockerCode {
	case BlockerExternalDecision, BlockerReviewRequired, BlockerAttemptsExhausted:
		return true
	}
	return b.DependsOnExternalDecision != nil && *b.DependsOnExternalDecision
}

// DependsOn is the id of the item that b waits for, or "" (C-025).
func (b Blocker) DependsOn() string {
	if b.BlockerCode != BlockerDependency {
		return ""
	}
	return b.DependsOnWorkItemID
}
