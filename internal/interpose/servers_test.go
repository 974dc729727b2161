package interpose

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childArg, as the first argument, turns the test binary into one of the
// servers below.
const childArg = "be-the-child"

// server is the command line of a server.
func server(name string, args ...string) []string {
	return append([]string{os.Args[0], childArg, name}, args...)
}

// script is a server that does one step after the other, then waits for the
// end of its stdin and exits with 0. The steps are those of runScript.
func script(steps ...string) []string { return server("script", steps...) }

var servers = map[string]func(args []string) int{
	"script":  runScript,
	"echo":    runEcho,
	"tap":     runTap,
	"witness": runWitness,
	"shuffle": runShuffle,
}

func runScript(steps []string) int {
	in := bufio.NewReader(os.Stdin)
	for _, step := range steps {
		verb, arg, _ := strings.Cut(step, " ")
		n, _ := strconv.Atoi(arg)
		switch verb {
		case "read": // lines, or one
			for range max(n, 1) {
				if _, err := in.ReadBytes('\n'); err != nil {
					return 90
				}
			}
		case "answer": // each of so many pairs of a line and an answer to its id
			for range n {
				line, err := in.ReadBytes('\n')
				if err != nil {
					return 90
				}
				os.Stdout.Write(answerTo(line))
			}
		case "say":
			os.Stdout.WriteString(arg)
		case "show": // a file
			b, err := os.ReadFile(arg)
			if err != nil {
				return 91
			}
			os.Stdout.Write(b)
		case "complain": // so many bytes on stderr
			os.Stderr.WriteString(strings.Repeat("!", n))
		case "complain-lines":
			os.Stderr.WriteString(strings.Repeat(strings.Repeat("!", 63)+"\n", n/64))
		case "end-of-input":
			io.Copy(io.Discard, in)
		case "close-stdin":
			os.Stdin.Close()
		case "close-stdout":
			os.Stdout.Close()
		case "pause": // milliseconds
			time.Sleep(time.Duration(n) * time.Millisecond)
		case "until": // there is a file
			for _, err := os.Stat(arg); err != nil; _, err = os.Stat(arg) {
				time.Sleep(time.Millisecond)
			}
		case "sleep":
			time.Sleep(time.Hour)
		case "ignore-signals":
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		case "spawn": // a process that sleeps, in this group or in a session of its own
			fmt.Println(spawnSleeper(arg == "own session"))
		case "leave-group": // for that of the relay
			leaveGroup()
		case "exit":
			return n
		case "die":
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			time.Sleep(time.Hour)
		default:
			panic("no step " + step)
		}
	}
	io.Copy(io.Discard, in)
	return 0
}

// runEcho answers every request, and a batch with a batch.
func runEcho([]string) int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		os.Stdout.Write(answerTo(line))
		if err != nil {
			return 0
		}
	}
}

func answerTo(line []byte) []byte {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) == nil {
		var answers [][]byte
		for _, e := range batch {
			if a := answerTo(e); a != nil {
				answers = append(answers, bytes.TrimSuffix(a, []byte("\n")))
			}
		}
		return append(append([]byte{'['}, bytes.Join(answers, []byte(","))...), "]\n"...)
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method == "" || len(m.ID) == 0 || string(m.ID) == "null" {
		return nil
	}
	return []byte(result(string(m.ID)) + "\n")
}

// runTap writes every byte it gets to one file and says what is in another.
func runTap(args []string) int {
	log, err := os.Create(args[0])
	if err != nil {
		return 92
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		if len(args) > 1 {
			b, _ := os.ReadFile(args[1])
			os.Stdout.Write(b)
		}
	}()
	if _, err := io.Copy(log, os.Stdin); err != nil {
		return 93
	}
	<-said
	return 0
}

// runWitness answers calls of tools whose intent was in a file when the first
// byte of the request came with `durable`, others with `NOT DURABLE`.
func runWitness(args []string) int {
	var frame, known []byte // the part of a frame that has come, and the file when it began
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return 0
		}
		onDisk, err := os.ReadFile(args[0])
		if err != nil {
			return 91
		}
		for part := range bytes.Lines(buf[:n]) {
			if len(frame) == 0 {
				known = onDisk
			}
			frame = append(frame, part...)
			if !bytes.HasSuffix(frame, []byte("\n")) {
				continue
			}
			var m struct {
				ID     json.RawMessage
				Params struct{ Name string }
			}
			if json.Unmarshal(frame, &m) != nil {
				return 94
			}
			verdict := "NOT DURABLE"
			if bytes.Contains(known, []byte(`"tool_id":"`+m.Params.Name+`"`)) {
				verdict = "durable"
			}
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%q}\n", m.ID, verdict)
			frame = nil
		}
	}
}

// runShuffle reads so many calls and answers each at length, in another order.
func runShuffle(args []string) int {
	n, _ := strconv.Atoi(args[0])
	in := bufio.NewReader(os.Stdin)
	var ids []string
	for range n {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 90
		}
		var m struct{ ID json.RawMessage }
		if json.Unmarshal(line, &m) != nil {
			return 94
		}
		ids = append(ids, string(m.ID))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, i := range random.Perm(n) {
		fmt.Print(longResult(ids[i]))
	}
	io.Copy(io.Discard, in)
	return 0
}

func longResult(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":"` + strings.Repeat(id[len(id)-1:], 64<<10) + "\"}\n"
}
