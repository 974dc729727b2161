package guard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

// runReply answers each request, in order, with what the file of its argument
// has on that line, %ID% and %LF% replaced. It says nothing to what it has no line for.
func runReply(args []string) int {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return 91
	}
	replies := strings.SplitAfter(string(text), "\n")
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		if ids := idsOf(line); len(ids) > 0 && len(replies) > 0 {
			io.WriteString(os.Stdout, strings.NewReplacer("%ID%", ids[0], "%LF%", "\n").Replace(replies[0]))
			replies = replies[1:]
		}
	}
}

// idsOf are the ids of the requests in a frame.
func idsOf(frame []byte) (ids []string) {
	type message struct {
		ID     json.RawMessage
		Method string
	}
	var batch []message
	if frame = bytes.TrimSpace(frame); !bytes.HasPrefix(frame, []byte("[")) {
		frame = fmt.Appendf(nil, "[%s]", frame)
	}
	if json.Unmarshal(frame, &batch) != nil {
		return nil
	}
	for _, m := range batch {
		if m.Method != "" && len(m.ID) > 0 {
			ids = append(ids, string(m.ID))
		}
	}
	return ids
}

// runStorm waits until there is the file of its second argument, reads frames
// and answers some, in another order, some twice, some in arrays, between stray
// text. Behind as many frames as its third argument says it ends in one of
// several ways. The first argument is the seed of all that.
func runStorm(args []string) int {
	seed, _ := strconv.ParseUint(args[0], 10, 64)
	frames, _ := strconv.Atoi(args[2])
	random := rand.New(rand.NewPCG(seed, 0))
	for _, err := os.Stat(args[1]); err != nil; _, err = os.Stat(args[1]) {
		time.Sleep(time.Millisecond)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	var waiting []string
	for range frames {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		waiting = append(waiting, idsOf(line)...)
		for random.IntN(3) > 0 && len(waiting) > 0 {
			i := random.IntN(len(waiting))
			id := waiting[i]
			texts := []string{"fine", "ghp_" + "Zx81kQpWm3NvBt6LsYc9RfHd2JgAe7Tu0XoI", `\u001b[31m`, "FAULT"}
			answer := textAnswer(id, texts[random.IntN(len(texts)-1+int(seed%2))])
			switch random.IntN(8) {
			case 0:
				answer += "\n" + answer
			case 1:
				answer = "[" + answer + `,{"jsonrpc":"2.0","method":"notifications/x"}]`
			case 2:
				answer = `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":1,"message":"no"}}`
			case 3:
				answer = "a banner\n" + answer + "\n" + `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`
			case 4:
				continue // later, or never
			case 5:
				answer = `{"jsonrpc":"2.0","id":` + id + `,"result":{"a":1,"a":2}}`
			}
			os.Stdout.WriteString(answer + "\n")
			waiting = append(waiting[:i], waiting[i+1:]...)
		}
	}
	switch random.IntN(5) {
	case 0:
		os.Stdout.WriteString(`{"jsonrpc":"2.0","id":`) // half an answer
		return 3
	case 1:
		os.Stdin.Close()
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
	case 2:
		os.Stdout.Close()
		io.Copy(io.Discard, in)
	case 3:
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		time.Sleep(time.Hour)
	}
	return 0
}

// runFlood writes as many long answers as its argument says, to ids that count
// from 0, reads nothing before it is done, and says how many requests it then got.
func runFlood(args []string) int {
	n, _ := strconv.Atoi(args[0])
	for i := range n {
		fmt.Println(textAnswer(fmt.Sprint(i), strings.Repeat("x", 4<<10)))
	}
	requests := 0
	for in := bufio.NewReaderSize(os.Stdin, 2<<20); ; {
		line, err := in.ReadBytes('\n')
		requests += len(idsOf(line))
		if err != nil {
			fmt.Printf("{\"requests\":%d}\n", requests)
			return 0
		}
	}
}
