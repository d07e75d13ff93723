package terminal

import (
	"encoding/binary"
	"fmt"

	"github.com/packetbench/packetbench/actors/msg"
)

// The types of frames, their first byte. Source: interface.md 5.
const (
	frameInput    = 0x00
	frameResize   = 0x01
	frameAck      = 0x02
	frameOutput   = 0x10
	frameSnapshot = 0x11
	frameExit     = 0x12
	frameSize     = 0x13
)

// A decoded frame is one of the types below. The bytes in it are those of the
// frame, not a copy.
type (
	// input is what a person typed; empty it only claims the terminal's size.
	input []byte
	// size is that of a window, or the one in force.
	size struct{ cols, rows uint16 }
	// ack is how many bytes the client has consumed so far.
	ack uint64
	// output begins at an offset in what the terminal has put out.
	output struct {
		offset uint64
		bytes  []byte
	}
	// snapshot repaints the screen as it was at an offset.
	snapshot struct {
		offset uint64
		bytes  []byte
	}
	// exit is the code of the program, -1 for an end by a signal.
	exit int32
)

// decodeClient decodes a frame of a client. Anything else is
// msg.ErrTerminalFrame.
func decodeClient(frame []byte) (any, error) {
	if len(frame) == 0 {
		return nil, fmt.Errorf("%w: empty", msg.ErrTerminalFrame)
	}
	body := frame[1:]
	switch frame[0] {
	case frameInput:
		return input(body), nil
	case frameResize:
		if len(body) == 4 {
			return size{binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:])}, nil
		}
	case frameAck:
		if len(body) == 8 {
			return ack(binary.BigEndian.Uint64(body)), nil
		}
	}
	return nil, fmt.Errorf("%w: type 0x%02x with %d bytes", msg.ErrTerminalFrame, frame[0], len(body))
}

// appendFrame encodes a frame of either side behind b.
func appendFrame(b []byte, f any) []byte {
	switch f := f.(type) {
	case input:
		return append(append(b, frameInput), f...)
	case ack:
		return binary.BigEndian.AppendUint64(append(b, frameAck), uint64(f))
	case output:
		return append(binary.BigEndian.AppendUint64(append(b, frameOutput), f.offset), f.bytes...)
	case snapshot:
		return append(binary.BigEndian.AppendUint64(append(b, frameSnapshot), f.offset), f.bytes...)
	case exit:
		return binary.BigEndian.AppendUint32(append(b, frameExit), uint32(f))
	case size:
		return appendSize(append(b, frameSize), f)
	}
	return b
}

// appendSize encodes the body of a size; a client's begins with frameResize.
func appendSize(b []byte, s size) []byte {
	b = binary.BigEndian.AppendUint16(b, s.cols)
	return binary.BigEndian.AppendUint16(b, s.rows)
}

// decodeServer decodes a frame of the service, as a client does.
func decodeServer(frame []byte) (any, error) {
	if len(frame) == 0 {
		return nil, fmt.Errorf("%w: empty", msg.ErrTerminalFrame)
	}
	body := frame[1:]
	switch {
	case frame[0] == frameOutput && len(body) >= 8:
		return output{binary.BigEndian.Uint64(body), body[8:]}, nil
	case frame[0] == frameSnapshot && len(body) >= 8:
		return snapshot{binary.BigEndian.Uint64(body), body[8:]}, nil
	case frame[0] == frameExit && len(body) == 4:
		return exit(int32(binary.BigEndian.Uint32(body))), nil
	case frame[0] == frameSize && len(body) == 4:
		return size{binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:])}, nil
	}
	return nil, fmt.Errorf("%w: type 0x%02x with %d bytes", msg.ErrTerminalFrame, frame[0], len(body))
}
