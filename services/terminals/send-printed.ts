import type { Socket } from 'node:net';
import { followed, granted, refused } from '#src/protocol/sandboxd/terminals.ts';
import type { Terminal } from './terminal.ts';

/** A follower never holds a terminal up: one that has more than this to read is given up. */
const mostUnreadBytes = 1024 * 1024;
const tooSlow = 'the terminal printed faster than it was read; follow it again';
const lengthBytes = 4;
const last = Buffer.alloc(lengthBytes);

/** Sends what a terminal prints, in pieces, until its program or its follower has ended. */
export function sendPrinted(terminal: Terminal, socket: Socket): void {
  let isOver = false;
  const end = (answer: string) => {
    if (isOver) return;
    isOver = true;
    socket.write(last);
    socket.end(answer);
  };
  // A program may print nothing for hours.
  socket.setTimeout(0);
  socket.write(followed);
  const leave = terminal.follow({
    printed: (bytes) => {
      if (socket.writableLength > mostUnreadBytes) end(refused + tooSlow);
      if (!isOver) sendPiece(socket, bytes);
    },
    ended: () => end(granted),
  });
  socket.once('close', leave);
}

/** Only the last piece is empty. */
function sendPiece(socket: Socket, bytes: Buffer): void {
  if (bytes.length === 0) return;
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(bytes.length);
  socket.write(length);
  socket.write(bytes);
}
