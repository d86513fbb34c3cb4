
Ph2
€ Ùæ
€ ¥†àğÖë
Pâ’!2fio
Pâ("’!’!*fio
Pâ
(disk
6@€ ÙæĞPZ)HX²lostº5 older records overwritten
{@Ò©ÙæĞPZnHX²info²diskºread 8 sectors at 0x1000Š&drivers/block/test.rstest::inner "	Rcount"Rsector€ 
‹@€©ÓçĞPZ~HX²err²diskº"sda \"1\"\t\u{1b}[2J Ã©": EIOŠ&drivers/block/test.rstest::inner "Rname2sda "1"	[2J Ã©"Re2EIO
Pâ	softirq/1
Pâ
(disk
Z@©ÓçĞPZMHX²trace²diskºnothing to sayŠ&drivers/block/test.rstest::inner ,
|@À­èĞPZoHX²debug²diskºstate Busy {
    tag: 3,
}Š&drivers/block/test.rstest::inner !"Rs2Busy { tag: 3 }
è@À­èĞPZÚHX²info²diskºG0xffff888000001000 true 'ğŸ¦€' -170141183460469231731687303715884105728Š&drivers/block/test.rstest::inner B"Rat8€ €€€âÿÿ"Rok"	Rc2ğŸ¦€"/Rbig2(-170141183460469231731687303715884105728
a@€²ÍèĞPZTHX²debug²diskº
state IdleŠ&drivers/block/test.rstest::inner !"	Rs2Idle
:@À¶ŠéĞPZ-HX²lostº120 records lost here (no-page)
£@€»ÇéĞPZ•HX²warn²diskº%q7 took 1500 ns for 02:00:5e:10:00:ffŠ&drivers/block/test.rstest::inner 7"	Rtook Ü"Rmac202:00:5e:10:00:ff"Rqueue2q7
Pâ	nmi/0
Pâ
(disk
m@À¿„êĞPZ`HX²debug²diskºsense de ad beŠ&drivers/block/test.rstest::inner X"Rsense2de ad be
Pâ	hardirq/3
Pâ		(net
³@€´ÄÃ!ĞPZ¥HX	²info²netº%192.0.2.1 to fe80::1: Some(64) Ok(99)Š&drivers/block/test.rstest::inner M"Rttl2Some(64)"Rsent2Ok(99)"Rfrom2	192.0.2.1"Rto2fe80::1
½@€´ÄÃ!ĞPZ¯HX	²info²netº*192.0.2.1 to fe80::1: Some(64) Err(EAGAIN)Š&drivers/block/test.rstest::inner M"Rttl2Some(64)"Rsent2Err(EAGAIN)"Rfrom2	192.0.2.1"Rto2fe80::1
9@€´ÄÃ!ĞPZ,HX	²lostº4 records lost here (too-long)
Pâ
F
Pâ(
"FM*kworker/2:1
Pâ	(net
@€È¯ %ĞPZtHX²info²netº1.5e3 [01, 02, fe, ff]Š&drivers/block/test.rstest::inner o"RnÜ"Rkey2[1, 2, 254, 255]
Pâ	softirq/2
Pâ	(net
Y@€Üšı(ĞPZLHX²trace²netºnothing to sayŠ&drivers/block/test.rstest::inner ,
@€ğ…Ú,ĞPZHX²netºt<site 1 of gone_mod, side table of build ID 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a needed> 07 00 00 00 00 00 00 00
Pâshared/0
Pâ	(net
7@€„ñ¶0ĞPZ*HX²lostº2 records lost here (nested)
Y@Àˆ®·0ĞPZLHX²trace²netºnothing to sayŠ&drivers/block/test.rstest::inner ,
™@€„»ìĞPZŠHX²warn²diskº!two
lines, "quoted", <b>&amp;</b>Š&drivers/block/test.rstest::inner c")Rtext2!two
lines, "quoted", <b>&amp;</b>
’@€˜¦É¢ĞPZƒHX²info²diskº%read 16 sectors at 0xffffffffffffffffŠ&drivers/block/test.rstest::inner "	Rcount"Rsectorÿÿÿÿÿÿÿÿÿ