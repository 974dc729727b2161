package interpose

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

// Windows has no process groups in this sense: only the server itself is
// signalled, and every signal is TerminateProcess.
func ownGroup(*exec.Cmd) {}

func (c *child) terminate() { c.cmd.Process.Kill() }

func (c *child) kill() { c.cmd.Process.Kill() }

func (c *child) pass(os.Signal) { c.cmd.Process.Kill() }

func awaitExit(pid int) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	windows.WaitForSingleObject(h, windows.INFINITE)
}

func exitOf(state *os.ProcessState) Exit { return Exit{Code: state.ExitCode()} }

func signalNumber(os.Signal) int { return 2 }
