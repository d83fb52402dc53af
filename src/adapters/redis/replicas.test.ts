import { expect, test } from 'vitest';
import { hasLiveReplica } from './replicas.ts';

const online = 'state=online,offset=1288,lag=';

test.each([
  ['none', 'role:master\r\nconnected_slaves:0\r\nmaster_replid:0a1b\r\n', false],
  ['one', `role:master\r\nslave0:ip=10.0.0.7,port=6379,${online}1,type=replica\r\n`, true],
  ['one that is being filled', 'slave0:ip=10.0.0.7,port=6379,state=wait_bgsave,offset=0,lag=0\r\n', false],
  ['one that stands still', `slave0:ip=10.0.0.7,port=6379,${online}11\r\n`, false],
  ['one of two', `slave0:ip=::1,port=1,${online}45\r\nslave1:ip=::1,port=2,${online}0\r\n`, true],
])('live replicas: %s', (_, replication, isLive) => {
  expect(hasLiveReplica(replication)).toBe(isLive);
});
