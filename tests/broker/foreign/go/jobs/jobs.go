// Package jobs has what the programs of all Go clients share: what is sent, and how results are told.
// The jobs themselves are each client's own; clients.py says what is expected of them.
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const (
	Partitions  = 3
	Retention   = "86400000"
	EachCodec   = 20
	FirstTimeMs = 1_700_000_000_000
)

// Results are told as one JSON object on standard output.
type Results map[string]any

// Arguments are the broker's address and the topic to work on.
func Arguments() (context.Context, string, string) {
	ctx, _ := context.WithTimeout(context.Background(), 50*time.Second)
	return ctx, os.Args[1], os.Args[2]
}

func Check(err error) {
	if err != nil {
		panic(err)
	}
}

func (results Results) Print() {
	Check(json.NewEncoder(os.Stdout).Encode(results))
}

func Key(index int) []byte                 { return []byte(fmt.Sprintf("key %d", index)) }
func Value(codec string, index int) []byte { return []byte(fmt.Sprintf("%s %d", codec, index)) }
func Time(index int) time.Time             { return time.UnixMilli(FirstTimeMs + int64(index)) }

// Read counts the records of each codec that came as they were sent.
type Read map[string]int

func (read Read) Add(key, value []byte, header string, at time.Time) {
	for index := 0; index < EachCodec; index++ {
		if string(value) == string(Value(header, index)) && string(key) == string(Key(index)) && at.Equal(Time(index)) {
			read[header]++
			return
		}
	}
	read["strange: "+string(value)]++
}

func (read Read) Total() int {
	total := 0
	for _, count := range read {
		total += count
	}
	return total
}

// WaitFor ends once what is asked for is so, and panics when it never is.
func WaitFor(ctx context.Context, what string, isSo func() bool) {
	for !isSo() {
		if ctx.Err() != nil {
			panic("never so: " + what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
