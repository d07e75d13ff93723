package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tmaxmax/go-sse"
)

// maxEventBytes bounds one event or line of a stream. Source: runtime.md 3.
const maxEventBytes = 8 << 20

var errTooLong = errors.New("The provider sent an event larger than 8 MiB, so the request was ended. Send again to retry.")

// events reads Server-Sent Events and hands over each non-empty data, until
// handle says stop, an error, or the end of the stream. Comments, empty data
// and event names are skipped (F03, F04).
func events(r io.Reader, handle func(data string) (stop bool, err error)) error {
	// The library drops an event whose blank line never came; two line ends
	// behind the stream deliver it and add nothing to a complete one (F05).
	r = io.MultiReader(r, strings.NewReader("\n\n"))
	for event, err := range sse.Read(r, &sse.ReadConfig{MaxEventSize: maxEventBytes}) {
		if err != nil {
			return readError(err)
		}
		if strings.TrimSpace(event.Data) == "" {
			continue
		}
		stop, err := handle(event.Data)
		if stop || err != nil {
			return err
		}
	}
	return nil
}

// lines reads NDJSON the same way: whole lines, blank ones skipped, a last one
// without its line end included.
func lines(r io.Reader, handle func(line []byte) (stop bool, err error)) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxEventBytes)
	for scanner.Scan() {
		line := scanner.Bytes()
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		stop, err := handle(line)
		if stop || err != nil {
			return err
		}
	}
	return readError(scanner.Err())
}

func readError(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return errTooLong
	}
	return err
}

// decode reads one JSON value of a stream.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("The provider sent something that is not the JSON it should be: %s", clip(strings.ToValidUTF8(string(data), "\uFFFD"), 200))
	}
	return nil
}
