//go:build !unix

package acmp

import "os/exec"

func ownGroup(*exec.Cmd) {}

func termGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
