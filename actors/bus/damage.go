package bus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// headFile, in the folder of the log, holds the number of the last event
	// that was stored when the service last ended in order.
	headFile = "head"
	// headMost is the largest number taken from it: what JSON readers hold.
	headMost = 1<<53 - 1
	// proveMost is how long the first event after an attach may stay
	// unconfirmed before the log counts as damaged.
	proveMost = 3 * time.Second
	// diskProbe is how much is written to tell a full disk from a damaged log,
	// and diskMost how long that may take.
	diskProbe = 1 << 20
	diskMost  = time.Second
	// errStorageExceeded is the server's refusal of a stream for lack of space.
	// Source: its list of errors, jetstream_errors_generated.go.
	errStorageExceeded = 10047
)

// DamagedError says that the event log does not work, and that the one started
// in its place does not either.
type DamagedError struct {
	Dir    string
	Reason string
}

// Error says what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("The event log in %s does not work, and a new one in its place did not either: %s. Check the disk and the permissions of that folder, then start again.", e.Dir, e.Reason)
}

// damage is the finding that a log does not work.
type damage struct{ reason string }

func (d *damage) Error() string { return "bus: the event log is damaged: " + d.reason }

// spoiled tells the server's failure to open what it has from a refusal of what
// was asked for, and from no answer.
func spoiled(err error) bool {
	var api *nats.APIError
	return errors.As(err, &api) && api.Code >= 500 && api.Code != 503 && api.ErrorCode != errStorageExceeded
}

// prove checks that the stream's figures make sense and that its ends can be
// read: a server recovers from an index that is intact without a look at the
// events behind it. least is the last number it must have. Only the oldest
// events are ever removed, so both ends are there or all is gone.
func prove(nc *nats.Conn, least uint64) error {
	js, err := nc.JetStream(nats.MaxWait(apiWait))
	if err != nil {
		return fmt.Errorf("The event log cannot be opened: %w.", err)
	}
	for try := 0; ; try++ {
		info, err := js.StreamInfo(streamName)
		if err != nil {
			return fmt.Errorf("The event log does not say what it holds: %w. Try again.", err)
		}
		st := info.State
		switch {
		case st.LastSeq < least:
			return &damage{fmt.Sprintf("it ends at event %d, but %d were stored", st.LastSeq, least)}
		case st.Msgs == 0 && st.FirstSeq > st.LastSeq+1, st.Msgs > 0 && (st.FirstSeq == 0 || st.FirstSeq > st.LastSeq):
			return &damage{fmt.Sprintf("it says that it holds %d events from %d to %d", st.Msgs, st.FirstSeq, st.LastSeq)}
		case st.Msgs == 0:
			return nil
		}
		seq := st.LastSeq
		_, err = js.GetMsg(streamName, seq)
		if err == nil {
			seq = st.FirstSeq
			_, err = js.GetMsg(streamName, seq)
		}
		switch {
		case err == nil:
			return nil
		case try < 2 && errors.Is(err, nats.ErrMsgNotFound):
			// It may have become too old at this moment; the figures tell.
		default:
			return &damage{fmt.Sprintf("event %d cannot be read: %v", seq, err)}
		}
	}
}

// numberFrom lets the numbers of an empty log go on behind last, so that a
// reader of the log before it is told of a gap instead of other events.
func (s *serving) numberFrom(last uint64) error {
	if last == 0 {
		return nil
	}
	js, err := s.nc.JetStream(nats.MaxWait(apiWait))
	if err == nil {
		err = js.PurgeStream(streamName, &nats.StreamPurgeRequest{Sequence: last + 1})
	}
	if err != nil {
		return fmt.Errorf("The empty event log cannot be numbered: %w. Try again.", err)
	}
	return nil
}

// late reports that the first event after an attach is not confirmed in time.
func (s *session) late(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.proven && !s.unproven.IsZero() && now.Sub(s.unproven) >= proveMost
}

// deaf reports that it is late although the server answers. It asks the server,
// which may take apiWait.
func (s *session) deaf(now time.Time) bool {
	if !s.late(now) {
		return false
	}
	_, err := s.js.StreamInfo(streamName)
	return err == nil && !s.hasProven()
}

func (s *session) hasProven() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proven
}

// diskTakes reports why the disk of a folder does not take a little more; a full
// or stuck one is no reason to give up the log on it.
func diskTakes(dir string) error {
	took := make(chan error, 1)
	go func() { took <- writeProbe(dir) }()
	wait := time.NewTimer(diskMost)
	defer wait.Stop()
	select {
	case err := <-took:
		return err
	case <-wait.C:
		return errors.New("it did not answer in time")
	}
}

func writeProbe(dir string) error {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, diskProbe))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// setAside renames the folder of a log that no server uses and returns its new
// name. The name is free unless the clock stands still.
func setAside(dir string, now time.Time) (string, error) {
	for sec := now.Unix(); ; sec++ {
		kept := fmt.Sprintf("%s.corrupt-%d", filepath.Clean(dir), sec)
		if _, err := os.Lstat(kept); err == nil {
			continue
		}
		if err := os.Rename(dir, kept); err != nil {
			return "", fmt.Errorf("its folder cannot be set aside: %w", err)
		}
		return kept, nil
	}
}

// readHead is what writeHead noted; 0 when there is nothing that can be read.
func readHead(dir string) uint64 {
	b, err := os.ReadFile(filepath.Join(dir, headFile))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(string(b), "\n"), 10, 64)
	if err != nil || n > headMost {
		return 0
	}
	return n
}

// writeHead notes the number of the last stored event.
func writeHead(dir string, n uint64) error {
	path := filepath.Join(dir, headFile)
	if err := os.WriteFile(path+".new", strconv.AppendUint(nil, n, 10), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
