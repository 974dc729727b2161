package lock

import "os/exec"

// Windows has no process groups in this sense: only the server itself is ended.
func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { cmd.Process.Kill() }
func killGroup(cmd *exec.Cmd)      { cmd.Process.Kill() }
