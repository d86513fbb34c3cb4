
$Ph2
€ Ùæ
€ ¥†àğÖëÚĞ
Pâ’!2fio
Pâ("’!’!*fio
Pâ
(disk
<@€ ÙæPZ$HXº5 older records overwrittenhb

lost
–@Ò©ÙæPZ3HXºread 8 sectors at 0x1000""€ hbU
info
disk"(drivers/block/test.rstest::inner 	count
sector
œ@€©ÓçPZJHXº"sda \"1\"\t\u{1b}[2J Ã©": EIO"	2sda "1"	[2J Ã©"
2EIOhbD
err"(drivers/block/test.rstest::inner 	name
e
Pâ	softirq/1
Pâ
(disk
_@©ÓçPZHXºnothing to sayhb5
	trace"(drivers/block/test.rstest::inner ,
‡@À­èPZ=HXºstate Busy {
    tag: 3,
}"2Busy { tag: 3 }hb<
	debug"(drivers/block/test.rstest::inner !s
û@À­èPZ¢HXºG0xffff888000001000 true 'ğŸ¦€' -170141183460469231731687303715884105728"8€ €€€âÿÿ""2ğŸ¦€",2(-170141183460469231731687303715884105728hbJ"(drivers/block/test.rstest::inner Batokcbig
.@€²ÍèPZ"HXº
state Idle"2Idleh
4@À¶ŠéPZ(HXº120 records lost here (no-page)h
¹@€»ÇéPZYHXº%q7 took 1500 ns for 02:00:5e:10:00:ff" Ü"202:00:5e:10:00:ff"2q7hbR
warn"(drivers/block/test.rstest::inner 7tookmac	queue
Pâ	nmi/0
Pâ
(disk
m@À¿„êPZ*HXºsense de ad be"2de ad behb5"(drivers/block/test.rstest::inner X	sense
Pâ	hardirq/3
Pâ		(net
Ï@€´ÄÃ!PZiHX	º%192.0.2.1 to fe80::1: Some(64) Ok(99)"2Some(64)"
2Ok(99)" 2	192.0.2.1"!2fe80::1hbX
net"(drivers/block/test.rstest::inner Mttlsent from!to
@€´ÄÃ!PZsHX	º*192.0.2.1 to fe80::1: Some(64) Err(EAGAIN)"2Some(64)"2Err(EAGAIN)" 2	192.0.2.1"!2fe80::1h
3@€´ÄÃ!PZ'HX	º4 records lost here (too-long)h
Pâ
F
Pâ(
"FM*kworker/2:1
Pâ	(net
‰@€È¯ %PZAHXº1.5e3 [01, 02, fe, ff]""#Ü"$2[1, 2, 254, 255]hb:"("drivers/block/test.rstest::inner o#n$key
Pâ	softirq/2
Pâ	(net
(@€Üšı(PZHXºnothing to sayh
‰@€ğ…Ú,PZ}HXºt<site 1 of gone_mod, side table of build ID 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a needed> 07 00 00 00 00 00 00 00h
Pâshared/0
Pâ	(net
1@€„ñ¶0PZ%HXº2 records lost here (nested)h
(@Àˆ®·0PZHXºnothing to sayh
™@€„»ìPZVHXº!two
lines, "quoted", <b>&amp;</b>%"%&2!two
lines, "quoted", <b>&amp;</b>hb4"(%drivers/block/test.rstest::inner c&text
U@€˜¦É¢PZHHXº%read 16 sectors at 0xffffffffffffffff""ÿÿÿÿÿÿÿÿÿh