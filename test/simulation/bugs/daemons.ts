import { WireError } from '#services/sandboxd/wire-error.ts';
import type { BindRequest, CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { Daemon } from '../sandbox/daemon.ts';
import type { MakeDaemon } from '../sandbox/sandboxes.ts';

class Welcoming extends Daemon {
  protected override accept(request: BindRequest): boolean {
    try {
      return super.accept(request);
    } catch (thrown) {
      if (thrown instanceof WireError && thrown.code === 'bound_elsewhere') return false;
      throw thrown;
    }
  }
}

class Forgetful extends Daemon {
  override receive(call: string, request: CallRequest) {
    this.journal = this.emptyJournal();
    return super.receive(call, request);
  }
}

class Careless extends Daemon {
  override receive(call: string, request: CallRequest) {
    this.journal.settle(this.journal.list().map(({ callId }) => callId));
    return super.receive(call, request);
  }
}

class Hasty extends Daemon {
  protected override emptyJournal() {
    return super.emptyJournal(0);
  }
}

export const takesAllForSettled: MakeDaemon = (...given) => new Careless(...given);
export const keepsNoLatest: MakeDaemon = (...given) => new Hasty(...given);
export const acceptsEverybody: MakeDaemon = (...given) => new Welcoming(...given);
export const forgetsItsJournal: MakeDaemon = (...given) => new Forgetful(...given);
