/**
 * Time zones of the IANA database, edition 2026c, for the years 2000 to 2090. Made by `generate.ts`.
 */

/** The edition of the database. */
export const edition = "2026c"

/** The offset in 2000, changes, yearly rules: in the form that `TimeZone.ts` reads. */
export const zones: Readonly<Record<string, string>> = {
  "Africa/Abidjan": "0||",
  "Africa/Addis_Ababa": "180||",
  "Africa/Algiers": "60||",
  "Africa/Blantyre": "120||",
  "Africa/Cairo":
    "120|9htgo:180 9mkj0:120 9t1wo:180 9xsz0:120 a4aco:180 a91f0:120 afiso:180 ak9v0:120 aqz0o:180 avq30:120 b27go:180 b6yj0:120 bdfwo:180 bhz70:120 booco:180 bss30:120 bzwso:180 c3sr0:120 cb58o:180 cetf0:120 cmlgo:180 cprv0:120 cqp8o:180 crcj0:120 dw6ko:180 dxh70:120 dyk4o:180 e0ab0:120 gp2so:180 guoz0:120|4,23,4,1440,180;10,25,4,1440,120",
  "Africa/Casablanca":
    "0|c1200:60 c3w6c:0 ccbk0:60 cetic:0 cmns0:60 cpomc:0 cx140:60 d0pac:0 d94rc:60 dbnvc:0 dcmbc:60 ddvvc:0 dkd7c:60 dmizc:0 dnkrc:60 dpzfc:0 duqjc:60 dxijc:0 dylfc:60 e17vc:0 e5yzc:60 e8cjc:0 e9ffc:60 ecgbc:0 eh7fc:60 ejd7c:0 ekg3c:60 enwjc:0 esfvc:60 eu63c:0 evgrc:60 ez4zc:0 f3obc:60 f56rc:0 f69nc:60 fg7fc:0 fhabc:60 fr0bc:0 fsazc:60 g20zc:0 g33vc:60 gctvc:0 ge4jc:60 gnujc:0 goxfc:60 gyv7c:0 gzy3c:60 h9o3c:0 hayrc:60 hkorc:0 hlrnc:60 hrdto:0|",
  "Africa/Ceuta": "60|9gsxo:120 9ni1o:60|3,25,0,120,120;10,25,0,180,60",
  "Africa/Juba": "120|9emgo:180 fzw30:120|",
  "Africa/Khartoum": "120|9emgo:180 ez830:120|",
  "Africa/Sao_Tome": "0|f141o:60 fcdlo:0|",
  "Africa/Tripoli": "120|df5c0:60 djfs0:120|",
  "Africa/Tunis": "60|b29qc:120 b6yo0:60 bcfdo:120 bj4ho:60 bnnto:120 bucxo:60 bz41o:120 c5ldo:60|",
  "Africa/Windhoek":
    "120|9h0o0:60 9lrto:120 9s940:60 9x09o:120 a3pc0:60 a88po:120 aexs0:60 ajoxo:120 aq680:60 auxdo:120 b1eo0:60 b65to:120 bcn40:60 bhe9o:120 bnvk0:60 bsmpo:120 bzbs0:60 c42xo:120 cak80:60 cfbdo:120 clso0:60 cqjto:120 cx140:60 d1s9o:120 d89k0:60 dd0po:120 djps0:60 do95o:120 duy80:60 dzpdo:120 e66o0:60 eaxto:120 ehf40:60 em69o:120 esnk0:60 exepo:120|",
  "America/Adak":
    "-600|9h180:-540 9niic:-600 9s9o0:-540 9yqyc:-600 a3pw0:-540 a9zec:-600 aeyc0:-540 al7uc:-600 aq6s0:-540 awo2c:-600 b1f80:-540 b7wic:-600 bcno0:-540 bj4yc:-600 bn8s0:-540 bul6c:-600|3,8,0,120,-540;11,1,0,120,-600",
  "America/Anchorage":
    "-540|9h16c:-480 9nigo:-540 9s9mc:-480 9yqwo:-540 a3puc:-480 a9zco:-540 aeyac:-480 al7so:-540 aq6qc:-480 awo0o:-540 b1f6c:-480 b7wgo:-540 bcnmc:-480 bj4wo:-540 bn8qc:-480 bul4o:-540|3,8,0,120,-480;11,1,0,120,-540",
  "America/Anguilla": "-240||",
  "America/Araguaina":
    "-120|9fxvc:-180 9mut0:-120 9qyjc:-180 9yb10:-120 a26zc:-180 aa6t0:-120 adffc:-180 dej90:-120 di7fc:-180|",
  "America/Argentina/Buenos_Aires": "-180|bwb10:-120 byojc:-180 c5dp0:-120 c9wzc:-180|",
  "America/Argentina/La_Rioja": "-180|aryt0:-240 asjyo:-180 bwb10:-120 byojc:-180|",
  "America/Argentina/Salta": "-180|bwb10:-120 byojc:-180|",
  "America/Argentina/San_Juan": "-180|arxp0:-240 atmuo:-180 bwb10:-120 byojc:-180|",
  "America/Argentina/San_Luis":
    "-180|arxp0:-240 atmuo:-180 bwb10:-120 bwzfc:-180 bygt0:-240 c55yo:-180 c9p90:-240 cgeeo:-180|",
  "America/Argentina/Tucuman": "-180|aryt0:-240 asc6o:-180 bwb10:-120 byojc:-180 c5dp0:-120 c9wzc:-180|",
  "America/Argentina/Ushuaia": "-180|arwl0:-240 asjyo:-180 bwb10:-120 byojc:-180|",
  "America/Asuncion":
    "-180|9g5p0:-240 9mn2o:-180 9re50:-240 9y3ao:-180 a3ph0:-240 a88uo:-180 aexx0:-240 ajp2o:-180 aq6d0:-240 aw86o:-180 b0rh0:-240 b7gmo:-180 bbzx0:-240 bip2o:-180 bn8d0:-240 bu5ao:-180 bygt0:-240 c5dqo:-180 c9p90:-240 cgm6o:-180 cm0l0:-240 crf2o:-180 cx910:-240 d2nio:-180 d8hh0:-240 de3qo:-180 djad0:-240 dpc6o:-180 duit0:-240 e0kmo:-180 e5r90:-240 ebt2o:-180 eh7h0:-240 en1io:-180 esfx0:-240 ey9yo:-180 f3od0:-240 f9q6o:-180 fewt0:-240 fkymo:-180 fq590:-240 fw72o:-180 g1lh0:-240 g7fio:-180 gctx0:-240 ginyo:-180 go2d0:-240 gtweo:-180 gzat0:-240 h5cmo:-180|",
  "America/Bahia":
    "-120|9fxvc:-180 9mut0:-120 9qyjc:-180 9yb10:-120 a26zc:-180 aa6t0:-120 adffc:-180 d3310:-120 d76rc:-180|",
  "America/Bahia_Banderas":
    "-420|9h130:-360 9nidc:-420 9tcf0:-360 9xvpc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bnvz0:-360 bud9c:-420 bzc70:-360 c5lpc:-420 cakn0:-360 cgu5c:-420 clt30:-300 csabo:-360 cx1hc:-300 d3iro:-360 d89xc:-300 der7o:-360 djq5c:-300 dpzno:-360 duylc:-300 e183o:-360 e671c:-300 ecgjo:-360 ehfhc:-300 enwro:-360 esnxc:-300 ez57o:-360 f3wdc:-300 fadno:-360 ffclc:-300 flm3o:-360 fql1c:-300 fwujo:-360 g1thc:-300 g8aro:-360 gd1xc:-300 gjj7o:-360|",
  "America/Belem": "-180||",
  "America/Belize": "-360||",
  "America/Boa_Vista": "-180|9fxx0:-240 9muuo:-180 9n2l0:-240|",
  "America/Bogota": "-300||",
  "America/Boise":
    "-420|9h130:-360 9nidc:-420 9s9j0:-360 9yqtc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bn8n0:-360 bul1c:-420|3,8,0,120,-360;11,1,0,120,-420",
  "America/Cambridge_Bay":
    "-360|9h11c:-300 9nq0c:-360 9yqtc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bn8n0:-360 bul1c:-420|3,8,0,120,-360;11,1,0,120,-420",
  "America/Campo_Grande":
    "-180|9fxx0:-240 9muuo:-180 9qyl0:-240 9yb2o:-180 a2710:-240 aa6uo:-180 adfh0:-240 akzqo:-180 aonx0:-240 awpyo:-180 b0450:-240 b7gmo:-180 bbcl0:-240 bjceo:-180 bmst0:-240 btxio:-180 bxth0:-240 c5dqo:-180 c91x0:-240 cgm6o:-180 cki50:-240 crumo:-180 cvql0:-240 d332o:-180 d76t0:-240 dejao:-180 di7h0:-240 dprqo:-180 dtfx0:-240 e106o:-180 e4w50:-240 ec8mo:-180 eg4l0:-240 enh2o:-180 erd10:-240 eypio:-180 f2lh0:-240 falao:-180 fdtx0:-240|",
  "America/Cancun":
    "-360|9h11c:-300 9nibo:-360 9tcdc:-300 9xvno:-360 a3ppc:-300 a9z7o:-360 aey5c:-300 al7no:-360 aq6lc:-300 awnvo:-360 b1f1c:-300 b7wbo:-360 bcnhc:-300 bj4ro:-360 bnvxc:-300 bud7o:-360 bzc5c:-300 c5lno:-360 caklc:-300 cgu3o:-360 clt1c:-300 csabo:-360 cx1hc:-300 d3iro:-360 d89xc:-300 der7o:-360 djq5c:-300 dpzno:-360 duylc:-300 e183o:-360 e491c:-300|",
  "America/Caracas": "-240|bvnvo:-270 eiajo:-240|",
  "America/Chicago":
    "-360|9h11c:-300 9nibo:-360 9s9hc:-300 9yqro:-360 a3ppc:-300 a9z7o:-360 aey5c:-300 al7no:-360 aq6lc:-300 awnvo:-360 b1f1c:-300 b7wbo:-360 bcnhc:-300 bj4ro:-360 bn8lc:-300 bukzo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/Chihuahua":
    "-420|9h130:-360 9nidc:-420 9tcf0:-360 9xvpc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bnvz0:-360 bud9c:-420 bzc70:-360 c5lpc:-420 cakn0:-360 cgu5c:-420 clt30:-360 csadc:-420 cx1j0:-360 d3itc:-420 d89z0:-360 der9c:-420 djq70:-360 dpzpc:-420 duyn0:-360 e185c:-420 e6730:-360 ecglc:-420 ehfj0:-360 enwtc:-420 esnz0:-360 ez59c:-420 f3wf0:-360 fadpc:-420 ffcn0:-360 flm5c:-420 fql30:-360 fwulc:-420 g1tj0:-360 g8atc:-420 gd1z0:-360|",
  "America/Ciudad_Juarez":
    "-420|9h130:-360 9nidc:-420 9tcf0:-360 9xvpc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bnvz0:-360 bud9c:-420 bzc70:-360 c5lpc:-420 cakn0:-360 cgu5c:-420 cl5r0:-360 csi5c:-420 cwe70:-360 d3qlc:-420 d7mn0:-360 dez1c:-420 div30:-360 dq7hc:-420 du3j0:-360 e1fxc:-420 e5bz0:-360 ecodc:-420 egs70:-360 eo4lc:-420 es0n0:-360 ezd1c:-420 f3930:-360 falhc:-420 fehj0:-360 fltxc:-420 fppz0:-360 fx2dc:-420 g1670:-360 g8ilc:-420 gcen0:-360 gkhm0:-420 gnn30:-360 guzhc:-420|3,8,0,120,-360;11,1,0,120,-420",
  "America/Coyhaique":
    "-180|9gdh0:-240 9n2mo:-180 9rlx0:-240 9yb2o:-180 a2ud0:-240 a9jio:-180 ae2t0:-240 akryo:-180 apj10:-240 aw0eo:-180 b0rh0:-240 b78uo:-180 bbzx0:-240 bip2o:-180 bn8d0:-240 btxio:-180 bz450:-240 c55yo:-180 c9x10:-240 cgeeo:-180 clst0:-240 crmuo:-180 cy450:-240 d1cuo:-180 d94t0:-240 dd0uo:-180 dkd90:-240 doh2o:-180 dvlp0:-240 dzpio:-180 eipx0:-240 elj2o:-180 etyd0:-240 ewrio:-180 f56t0:-240 f7zyo:-180 ffcd0:-240 fk3io:-180 fqkt0:-240 fvbyo:-180 g1t90:-240 g6keo:-180 gd1p0:-240 gi0mo:-180 goa50:-240 gt1ao:-180 gzqd0:-240 h4hio:-180|",
  "America/Creston": "-420||",
  "America/Cuiaba":
    "-180|9fxx0:-240 9muuo:-180 9qyl0:-240 9yb2o:-180 a2710:-240 aa6uo:-180 adfh0:-240 awpyo:-180 b0450:-240 b7gmo:-180 bbcl0:-240 bjceo:-180 bmst0:-240 btxio:-180 bxth0:-240 c5dqo:-180 c91x0:-240 cgm6o:-180 cki50:-240 crumo:-180 cvql0:-240 d332o:-180 d76t0:-240 dejao:-180 di7h0:-240 dprqo:-180 dtfx0:-240 e106o:-180 e4w50:-240 ec8mo:-180 eg4l0:-240 enh2o:-180 erd10:-240 eypio:-180 f2lh0:-240 falao:-180 fdtx0:-240|",
  "America/Dawson":
    "-480|9h14o:-420 9nif0:-480 9s9ko:-420 9yqv0:-480 a3pso:-420 a9zb0:-480 aey8o:-420 al7r0:-480 aq6oo:-420 awnz0:-480 b1f4o:-420 b7wf0:-480 bcnko:-420 bj4v0:-480 bn8oo:-420 bul30:-480 byh4o:-420 c5tj0:-480 c9pko:-420 ch1z0:-480 cl5so:-420 csi70:-480 cwe8o:-420 d3qn0:-480 d7moo:-420 dez30:-480 div4o:-420 dq7j0:-480 du3ko:-420 e1fz0:-480 e5c0o:-420 ecof0:-480 egs8o:-420 eo4n0:-480 es0oo:-420 ezd30:-480 f394o:-420 falj0:-480 fehko:-420 fltz0:-480 fpq0o:-420|",
  "America/Detroit":
    "-300|9h0zo:-240 9nia0:-300 9s9fo:-240 9yqq0:-300 a3pno:-240 a9z60:-300 aey3o:-240 al7m0:-300 aq6jo:-240 awnu0:-300 b1ezo:-240 b7wa0:-300 bcnfo:-240 bj4q0:-300 bn8jo:-240 buky0:-300|3,8,0,120,-240;11,1,0,120,-300",
  "America/Edmonton":
    "-420|9h130:-360 9nidc:-420 9s9j0:-360 9yqtc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bn8n0:-360 bul1c:-420 byh30:-360 c5thc:-420 c9pj0:-360 ch1xc:-420 cl5r0:-360 csi5c:-420 cwe70:-360 d3qlc:-420 d7mn0:-360 dez1c:-420 div30:-360 dq7hc:-420 du3j0:-360 e1fxc:-420 e5bz0:-360 ecodc:-420 egs70:-360 eo4lc:-420 es0n0:-360 ezd1c:-420 f3930:-360 falhc:-420 fehj0:-360 fltxc:-420 fppz0:-360 fx2dc:-420 g1670:-360 g8ilc:-420 gcen0:-360 gjr1c:-420 gnn30:-360 guzhc:-420 gyvj0:-360 h67xc:-420 ha3z0:-360 hhgdc:-420 hlcf0:-360|",
  "America/Eirunepe": "-300|c1rsc:-240 dqf2o:-300|",
  "America/Fort_Nelson":
    "-480|9h14o:-420 9nif0:-480 9s9ko:-420 9yqv0:-480 a3pso:-420 a9zb0:-480 aey8o:-420 al7r0:-480 aq6oo:-420 awnz0:-480 b1f4o:-420 b7wf0:-480 bcnko:-420 bj4v0:-480 bn8oo:-420 bul30:-480 byh4o:-420 c5tj0:-480 c9pko:-420 ch1z0:-480 cl5so:-420 csi70:-480 cwe8o:-420 d3qn0:-480 d7moo:-420 dez30:-480 div4o:-420 dq7j0:-480 du3ko:-420 e1fz0:-480 e5c0o:-420|",
  "America/Fortaleza": "-120|9fxvc:-180 9mut0:-120 9nabc:-180 9yb10:-120 a26zc:-180|",
  "America/Glace_Bay":
    "-240|9h0y0:-180 9ni8c:-240 9s9e0:-180 9yqoc:-240 a3pm0:-180 a9z4c:-240 aey20:-180 al7kc:-240 aq6i0:-180 awnsc:-240 b1ey0:-180 b7w8c:-240 bcne0:-180 bj4oc:-240 bn8i0:-180 bukwc:-240|3,8,0,120,-180;11,1,0,120,-240",
  "America/Godthab":
    "-180|9gsxo:-120 9ni1o:-180 9s1do:-120 9yqho:-180 a3hlo:-120 a9yxo:-180 aeq1o:-120 al7do:-180 apyho:-120 awnlo:-180 b16xo:-120 b7w1o:-180 bcfdo:-120 bj4ho:-180 bnnto:-120 bucxo:-180 bz41o:-120 c5ldo:-180 cacho:-120 cgtto:-180 clkxo:-120 csa1o:-180 cwtdo:-120 d3iho:-180 d81to:-120 deqxo:-180 dji1o:-120 dpzdo:-180 duqho:-120 e17to:-180 e5yxo:-120 ecg9o:-180 eh7do:-120 enwho:-180 esfto:-120 ez4xo:-180 f3o9o:-120 faddo:-180 ff4ho:-120 fllto:-180 fqcxo:-120 fwu9o:-180 g1ldo:-120 g8aho:-180 gctto:-120 gjixo:-180 go29o:-120 gziho:-60 h5zto:-120|3,24,6,1380,-60;10,24,6,1440,-120",
  "America/Goose_Bay":
    "-240|9h0up:-180 9ni51:-240 9s9ap:-180 9yql1:-240 a3pip:-180 a9z11:-240 aexyp:-180 al7h1:-240 aq6ep:-180 awnp1:-240 b1eup:-180 b7w51:-240 bcnap:-180 bj4l1:-240 bn8ep:-180 bukt1:-240 bygup:-180 c5t91:-240 c9pap:-180 ch1p1:-240 cl5ip:-180 cshx1:-240 cwdyp:-180 d3qgc:-240|3,8,0,120,-180;11,1,0,120,-240",
  "America/Guatemala": "-360|bdii0:-300 bi9kc:-360|",
  "America/Havana":
    "-300|9h0wc:-240 9ni8c:-300 9s9cc:-240 9yqoc:-300 a3pkc:-240 a9z4c:-300 aey0c:-240 al7kc:-300 apyoc:-240 bj4oc:-300 bn8gc:-240 bud4c:-300 byooc:-240 c5lkc:-300 c9pcc:-240 cgu0c:-300 cl5kc:-240 csa8c:-300 cwlsc:-240 d3y8c:-300 d89sc:-240 deywc:-300|3,7,6,1440,-240;11,1,0,60,-300",
  "America/Indiana/Indianapolis": "-300|bcnfo:-240 bj4q0:-300 bn8jo:-240 buky0:-300|3,8,0,120,-240;11,1,0,120,-300",
  "America/Indiana/Knox": "-300|bj4ro:-360 bn8lc:-300 bukzo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/Indiana/Petersburg": "-300|bj4ro:-360 bn8lc:-300 bygzo:-240 c5te0:-300|3,8,0,120,-240;11,1,0,120,-300",
  "America/Indiana/Winamac": "-300|bj4ro:-360 bn8lc:-240 buky0:-300|3,8,0,120,-240;11,1,0,120,-300",
  "America/Iqaluit":
    "-360|9h11c:-300 9s9fo:-240 9yqq0:-300 a3pno:-240 a9z60:-300 aey3o:-240 al7m0:-300 aq6jo:-240 awnu0:-300 b1ezo:-240 b7wa0:-300 bcnfo:-240 bj4q0:-300 bn8jo:-240 buky0:-300|3,8,0,120,-240;11,1,0,120,-300",
  "America/Los_Angeles":
    "-480|9h14o:-420 9nif0:-480 9s9ko:-420 9yqv0:-480 a3pso:-420 a9zb0:-480 aey8o:-420 al7r0:-480 aq6oo:-420 awnz0:-480 b1f4o:-420 b7wf0:-480 bcnko:-420 bj4v0:-480 bn8oo:-420 bul30:-480|3,8,0,120,-420;11,1,0,120,-480",
  "America/Managua": "-360|b1mq0:-300 b714c:-360 bdilc:-300 bi9m0:-360|",
  "America/Matamoros":
    "-360|9h11c:-300 9nibo:-360 9tcdc:-300 9xvno:-360 a3ppc:-300 a9z7o:-360 aey5c:-300 al7no:-360 aq6lc:-300 awnvo:-360 b1f1c:-300 b7wbo:-360 bcnhc:-300 bj4ro:-360 bnvxc:-300 bud7o:-360 bzc5c:-300 c5lno:-360 caklc:-300 cgu3o:-360 cl5pc:-300 csi3o:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/Mazatlan":
    "-420|9h130:-360 9nidc:-420 9tcf0:-360 9xvpc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bnvz0:-360 bud9c:-420 bzc70:-360 c5lpc:-420 cakn0:-360 cgu5c:-420 clt30:-360 csadc:-420 cx1j0:-360 d3itc:-420 d89z0:-360 der9c:-420 djq70:-360 dpzpc:-420 duyn0:-360 e185c:-420 e6730:-360 ecglc:-420 ehfj0:-360 enwtc:-420 esnz0:-360 ez59c:-420 f3wf0:-360 fadpc:-420 ffcn0:-360 flm5c:-420 fql30:-360 fwulc:-420 g1tj0:-360 g8atc:-420 gd1z0:-360 gjj9c:-420|",
  "America/Mendoza": "-180|arot0:-240 avkuo:-180 bwb10:-120 byojc:-180|",
  "America/Merida":
    "-360|9h11c:-300 9nibo:-360 9tcdc:-300 9xvno:-360 a3ppc:-300 a9z7o:-360 aey5c:-300 al7no:-360 aq6lc:-300 awnvo:-360 b1f1c:-300 b7wbo:-360 bcnhc:-300 bj4ro:-360 bnvxc:-300 bud7o:-360 bzc5c:-300 c5lno:-360 caklc:-300 cgu3o:-360 clt1c:-300 csabo:-360 cx1hc:-300 d3iro:-360 d89xc:-300 der7o:-360 djq5c:-300 dpzno:-360 duylc:-300 e183o:-360 e671c:-300 ecgjo:-360 ehfhc:-300 enwro:-360 esnxc:-300 ez57o:-360 f3wdc:-300 fadno:-360 ffclc:-300 flm3o:-360 fql1c:-300 fwujo:-360 g1thc:-300 g8aro:-360 gd1xc:-300 gjj7o:-360|",
  "America/Metlakatla":
    "-480|ecogo:-540 egsac:-480 eo4oo:-540 es0qc:-480 ezd4o:-540 f396c:-480 fcz4o:-540 fehmc:-480 flu0o:-540|3,8,0,120,-480;11,1,0,120,-540",
  "America/Miquelon":
    "-180|9h0wc:-120 9ni6o:-180 9s9cc:-120 9yqmo:-180 a3pkc:-120 a9z2o:-180 aey0c:-120 al7io:-180 aq6gc:-120 awnqo:-180 b1ewc:-120 b7w6o:-180 bcncc:-120 bj4mo:-180 bn8gc:-120 bukuo:-180|3,8,0,120,-120;11,1,0,120,-180",
  "America/Moncton":
    "-240|9h0up:-180 9ni51:-240 9s9ap:-180 9yql1:-240 a3pip:-180 a9z11:-240 aexyp:-180 al7h1:-240 aq6ep:-180 awnp1:-240 b1eup:-180 b7w51:-240 bcnap:-180 bj4l1:-240 bn8i0:-180 bukwc:-240|3,8,0,120,-180;11,1,0,120,-240",
  "America/Montevideo":
    "-180|avd10:-120 b172o:-180 b78wc:-120 bbzyo:-180 bi9kc:-120 bn8eo:-180 btpsc:-120 byguo:-180 c4y8c:-120 c9pao:-180 cg6oc:-120 cl5io:-180 crf4c:-120 cwdyo:-180 d2nkc:-120 d7meo:-180 de3sc:-120 diuuo:-180 dpc8c:-120 du3ao:-180 e0koc:-120 e5bqo:-180|",
  "America/Noronha": "-60|9fxto:-120 9murc:-60 9n2ho:-120 9yazc:-60 a26xo:-120|",
  "America/North_Dakota/Beulah":
    "-420|9h130:-360 9nidc:-420 9s9j0:-360 9yqtc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bn8n0:-360 bul1c:-420 byh30:-360 c5thc:-420 c9pj0:-360 ch1xc:-420 cl5r0:-360 cwe5c:-300 d3qjo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/North_Dakota/New_Salem":
    "-420|9h130:-360 9nidc:-420 9s9j0:-360 9yqtc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 aq6lc:-300 awnvo:-360 b1f1c:-300 b7wbo:-360 bcnhc:-300 bj4ro:-360 bn8lc:-300 bukzo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/Ojinaga":
    "-420|9h130:-360 9nidc:-420 9tcf0:-360 9xvpc:-420 a3pr0:-360 a9z9c:-420 aey70:-360 al7pc:-420 aq6n0:-360 awnxc:-420 b1f30:-360 b7wdc:-420 bcnj0:-360 bj4tc:-420 bnvz0:-360 bud9c:-420 bzc70:-360 c5lpc:-420 cakn0:-360 cgu5c:-420 cl5r0:-360 csi5c:-420 cwe70:-360 d3qlc:-420 d7mn0:-360 dez1c:-420 div30:-360 dq7hc:-420 du3j0:-360 e1fxc:-420 e5bz0:-360 ecodc:-420 egs70:-360 eo4lc:-420 es0n0:-360 ezd1c:-420 f3930:-360 falhc:-420 fehj0:-360 fltxc:-420 fppz0:-360 fx2dc:-420 g1670:-360 g8ilc:-420 gcen0:-360 gnn1c:-300 guzfo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/Port-au-Prince":
    "-300|b1ewc:-240 b7w6o:-300 bcncc:-240 bj4mo:-300 d7mjo:-240 deyy0:-300|3,8,0,120,-240;11,1,0,120,-300",
  "America/Punta_Arenas":
    "-180|9gdh0:-240 9n2mo:-180 9rlx0:-240 9yb2o:-180 a2ud0:-240 a9jio:-180 ae2t0:-240 akryo:-180 apj10:-240 aw0eo:-180 b0rh0:-240 b78uo:-180 bbzx0:-240 bip2o:-180 bn8d0:-240 btxio:-180 bz450:-240 c55yo:-180 c9x10:-240 cgeeo:-180 clst0:-240 crmuo:-180 cy450:-240 d1cuo:-180 d94t0:-240 dd0uo:-180 dkd90:-240 doh2o:-180 dvlp0:-240 dzpio:-180 eipx0:-240 elj2o:-180|",
  "America/Rankin_Inlet":
    "-360|9h11c:-300 9yqro:-360 a3ppc:-300 a9z7o:-360 aey5c:-300 al7no:-360 aq6lc:-300 awnvo:-360 b1f1c:-300 b7wbo:-360 bcnhc:-300 bj4ro:-360 bn8lc:-300 bukzo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/Recife": "-120|9fxvc:-180 9mut0:-120 9n2jc:-180 9yb10:-120 a26zc:-180|",
  "America/Resolute":
    "-360|9h11c:-300 9yqro:-360 a3ppc:-300 a9z7o:-360 aey5c:-300 al7no:-360 aq6lc:-300 awnvo:-360 b1f1c:-300 b7wbo:-360 bcnhc:-300 bukzo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "America/Santarem": "-240|c1rqo:-180|",
  "America/Santiago":
    "-180|9gdh0:-240 9n2mo:-180 9rlx0:-240 9yb2o:-180 a2ud0:-240 a9jio:-180 ae2t0:-240 akryo:-180 apj10:-240 aw0eo:-180 b0rh0:-240 b78uo:-180 bbzx0:-240 bip2o:-180 bn8d0:-240 btxio:-180 bz450:-240 c55yo:-180 c9x10:-240 cgeeo:-180 clst0:-240 crmuo:-180 cy450:-240 d1cuo:-180 d94t0:-240 dd0uo:-180 dkd90:-240 doh2o:-180 dvlp0:-240 dzpio:-180 eipx0:-240 elj2o:-180 etyd0:-240 ewrio:-180 f56t0:-240 f7zyo:-180 ffcd0:-240 fk3io:-180 fqkt0:-240 fvbyo:-180 g1t90:-240 g6keo:-180 gd1p0:-240 gi0mo:-180 goa50:-240 gt1ao:-180|4,1,6,1440,-240;9,1,6,1440,-180",
  "America/Santo_Domingo": "-240|9nia0:-300 9ol60:-240|",
  "America/Sao_Paulo":
    "-120|9fxvc:-180 9mut0:-120 9qyjc:-180 9yb10:-120 a26zc:-180 aa6t0:-120 adffc:-180 akzp0:-120 aonvc:-180 awpx0:-120 b043c:-180 b7gl0:-120 bbcjc:-180 bjcd0:-120 bmsrc:-180 btxh0:-120 bxtfc:-180 c5dp0:-120 c91vc:-180 cgm50:-120 cki3c:-180 crul0:-120 cvqjc:-180 d3310:-120 d76rc:-180 dej90:-120 di7fc:-180 dprp0:-120 dtfvc:-180 e1050:-120 e4w3c:-180 ec8l0:-120 eg4jc:-180 enh10:-120 erczc:-180 eyph0:-120 f2lfc:-180 fal90:-120 fdtvc:-180|",
  "America/Scoresbysund":
    "-60|9gsxo:0 9ni1o:-60 9s1do:0 9yqho:-60 a3hlo:0 a9yxo:-60 aeq1o:0 al7do:-60 apyho:0 awnlo:-60 b16xo:0 b7w1o:-60 bcfdo:0 bj4ho:-60 bnnto:0 bucxo:-60 bz41o:0 c5ldo:-60 cacho:0 cgtto:-60 clkxo:0 csa1o:-60 cwtdo:0 d3iho:-60 d81to:0 deqxo:-60 dji1o:0 dpzdo:-60 duqho:0 e17to:-60 e5yxo:0 ecg9o:-60 eh7do:0 enwho:-60 esfto:0 ez4xo:-60 f3o9o:0 faddo:-60 ff4ho:0 fllto:-60 fqcxo:0 fwu9o:-60 g1ldo:0 g8aho:-60 gctto:0 gjixo:-60 go29o:0 gurdo:-60 h5zto:-120|3,24,6,1380,-60;10,24,6,1440,-120",
  "America/St_Johns":
    "-210|9h0tv:-150 9ni47:-210 9s99v:-150 9yqk7:-210 a3phv:-150 a9z07:-210 aexxv:-150 al7g7:-210 aq6dv:-150 awno7:-210 b1etv:-150 b7w47:-210 bcn9v:-150 bj4k7:-210 bn8dv:-150 buks7:-210 bygtv:-150 c5t87:-210 c9p9v:-150 ch1o7:-210 cl5hv:-150 cshw7:-210 cwdxv:-150 d3qfi:-210|3,8,0,120,-150;11,1,0,120,-210",
  "America/Tegucigalpa": "-360|bdqa0:-300 bgkgc:-360|",
  "America/Tijuana":
    "-480|9h14o:-420 9nif0:-480 9s9ko:-420 9yqv0:-480 a3pso:-420 a9zb0:-480 aey8o:-420 al7r0:-480 aq6oo:-420 awnz0:-480 b1f4o:-420 b7wf0:-480 bcnko:-420 bj4v0:-480 bnw0o:-420 budb0:-480 bzc8o:-420 c5lr0:-480 cakoo:-420 cgu70:-480 cl5so:-420 csi70:-480|3,8,0,120,-420;11,1,0,120,-480",
  "America/Vancouver":
    "-480|9h14o:-420 9nif0:-480 9s9ko:-420 9yqv0:-480 a3pso:-420 a9zb0:-480 aey8o:-420 al7r0:-480 aq6oo:-420 awnz0:-480 b1f4o:-420 b7wf0:-480 bcnko:-420 bj4v0:-480 bn8oo:-420 bul30:-480 byh4o:-420 c5tj0:-480 c9pko:-420 ch1z0:-480 cl5so:-420 csi70:-480 cwe8o:-420 d3qn0:-480 d7moo:-420 dez30:-480 div4o:-420 dq7j0:-480 du3ko:-420 e1fz0:-480 e5c0o:-420 ecof0:-480 egs8o:-420 eo4n0:-480 es0oo:-420 ezd30:-480 f394o:-420 falj0:-480 fehko:-420 fltz0:-480 fpq0o:-420 fx2f0:-480 g168o:-420 g8in0:-480 gceoo:-420 gjr30:-480 gnn4o:-420 guzj0:-480 gyvko:-420 h67z0:-480 ha40o:-420 hhgf0:-480 hlcgo:-420|",
  "America/Winnipeg":
    "-360|9h11c:-300 9nidc:-360 9s9hc:-300 9yqtc:-360 a3ppc:-300 a9z9c:-360 aey5c:-300 al7pc:-360 aq6lc:-300 awnxc:-360 b1f1c:-300 b7wdc:-360 bcnhc:-300 bj4ro:-360 bn8lc:-300 bukzo:-360|3,8,0,120,-300;11,1,0,120,-360",
  "Antarctica/Casey":
    "480|cglq0:660 ckux0:480 d3fy0:660 d71wc:480 enn6o:660 f38cc:480 f9ptc:660 feoio:480 fkvzo:660 fpp6o:480 fw6ip:660 g159o:480 g7eyp:660 gcdpo:480 ginep:660 gniyo:480|",
  "Antarctica/Davis": "420|cglro:300 cl1tc:420 d3fzo:300 d721c:420|",
  "Antarctica/DumontDUrville": "600||",
  "Antarctica/Macquarie":
    "660|9gsio:600 9ljmo:660 9s0yo:600 9y2qo:660 a3h6o:600 a9b6o:660 aepmo:600 akjmo:660 apy2o:600 avs2o:660 b16io:600 b70io:660 bcmqo:600 bi8yo:660 bnneo:600 btp6o:660|4,1,0,180,600;10,1,0,120,660",
  "Antarctica/Mawson": "360|cgltc:300|",
  "Antarctica/McMurdo":
    "780|9gknc:720 9mmfc:780 9rt3c:720 9y2nc:780 a31jc:720 a9b3c:780 ae9zc:720 akjjc:780 apq7c:720 avrzc:780 b0ync:720 b70fc:780 bc73c:720 bi8vc:780 bnfjc:720 bthbc:780|4,1,0,180,720;9,24,0,120,780",
  "Antarctica/Troll": "0|b16xo:120 b7w1o:0|3,25,0,60,120;10,25,0,180,0",
  "Antarctica/Vostok": "420|gwano:300|",
  "Asia/Almaty":
    "360|9gspc:420 9nhtc:360 9s15c:420 9yq9c:360 a3hdc:420 a9ypc:360 aeptc:420 al75c:360 apy9c:420 awndc:360 gyku0:300|",
  "Asia/Amman":
    "120|9gx8o:180 9mkko:120 9s5oo:180 9xt0o:120 a3f8o:180 a91go:120 aenoo:180 al50o:120 apw4o:180 aw5oo:120 b1cco:180 b6yko:120 bckso:180 bj24o:120 bnt8o:180 buako:120 bz1oo:180 c5qso:120 caa4o:180 cgz8o:120 cliko:180 cs7oo:120 cwyso:180 d3g4o:120 d878o:180 drn70:120 duo4o:180 e1d8o:120 e5wko:180 ecloo:120 ehcso:180 enu4o:120 esl8o:180 ez2ko:120 f3too:180 fab0o:120 ff24o:180 fljgo:120 fqako:180 fwzoo:120 g1j0o:180 g884o:120 gbwco:180|",
  "Asia/Anadyr":
    "720|9gsfc:780 9nhjc:720 9s0vc:780 9ypzc:720 a3h3c:780 a9yfc:720 aepjc:780 al6vc:720 apxzc:780 awn3c:720 b16fc:780 b7vjc:720 bcevc:780 bj3zc:720 bnnbc:780 bucfc:720 bz3jc:780 c5kvc:720 cabzc:780 cgtbc:720 cs9l0:660 cwsx0:720|",
  "Asia/Aqtau": "240|9gsso:300 9nhwo:240 9s18o:300 9yqco:240 a3hgo:300 a9yso:240 aepwo:300 al78o:240 apyco:300|",
  "Asia/Aqtobe":
    "300|9gsr0:360 9nhv0:300 9s170:360 9yqb0:300 a3hf0:360 a9yr0:300 aepv0:360 al770:300 apyb0:360 awnf0:300|",
  "Asia/Ashgabat": "300||",
  "Asia/Baghdad":
    "180|9gzk0:240 9mmw0:180 9s940:240 9xwg0:180 a3io0:240 a9600:180 aes80:240 akfk0:180 aq2w0:240 avq80:180 b1cg0:240 b6zs0:180 bcm00:240 bi9c0:180 bnvk0:240 btiw0:180|",
  "Asia/Baku":
    "240|9gsw0:300 9ni00:240 9s1c0:300 9yqg0:240 a3hk0:300 a9yw0:240 aeq00:300 al7c0:240 apyg0:300 awnk0:240 b16w0:300 b7w00:240 bcfc0:300 bj4g0:240 bnns0:300 bucw0:240 bz400:300 c5lc0:240 cacg0:300 cgts0:240 clkw0:300 csa00:240 cwtc0:300 d3ig0:240 d81s0:300 deqw0:240 dji00:300 dpzc0:240 duqg0:300 e17s0:240 e5yw0:300 ecg80:240|",
  "Asia/Bangkok": "420||",
  "Asia/Barnaul":
    "360|9gspc:420 9nhtc:360 9s15c:420 9yq9c:360 a3hdc:420 a9ypc:360 aeptc:420 al75c:360 apy9c:420 awndc:360 b16pc:420 b7vtc:360 bcf5c:420 bj49c:360 bnnlc:420 bucpc:360 bz3tc:420 c5l5c:360 cac9c:420 cgtlc:360 clkpc:420 cs9tc:360 cwt5c:420 e17jo:360 eh75c:420|",
  "Asia/Beirut": "120|9gsso:180 9nhv0:120|3,24,6,1440,180;10,24,6,1440,120",
  "Asia/Bishkek":
    "300|9gsru:360 9nhu6:300 9s17u:360 9yqa6:300 a3hfu:360 a9yq6:300 aepvu:360 al766:300 apybu:360 awne6:300 b16ru:360|",
  "Asia/Brunei": "480||",
  "Asia/Calcutta": "330||",
  "Asia/Chita":
    "540|9gskc:600 9nhoc:540 9s10c:600 9yq4c:540 a3h8c:600 a9ykc:540 aepoc:600 al70c:540 apy4c:600 awn8c:540 b16kc:600 b7voc:540 bcf0c:600 bj44c:540 bnngc:600 buckc:540 bz3oc:600 c5l0c:540 cac4c:600 cgtgc:540 clkkc:600 cs9oc:540 cwt0c:600 e17eo:480 eh720:540|",
  "Asia/Colombo": "360|bd1au:330|",
  "Asia/Damascus":
    "120|9gzgo:180 9mmr0:120 9s90o:180 9xwb0:120 a3iko:180 a95v0:120 aes4o:180 akff0:120 aq2so:180 avq30:120 b1cco:180 b6zn0:120 bclwo:180 bhz70:120 bnt8o:180 buib0:120 bz9go:180 c5rv0:120 caa4o:180 cgz70:120 clqco:180 cs7n0:120 cwyso:180 d3g30:120 d878o:180 deoj0:120 djfoo:180 dpwz0:120 duo4o:180 e1d70:120 e5wko:180 ecln0:120 eh50o:180 enu30:120 esl8o:180 ez2j0:120 f3too:180 faaz0:120 ff24o:180 fljf0:120 fqako:180 fwzn0:120 g1j0o:180 g8830:120 gcrgo:180|",
  "Asia/Dhaka": "360|ccwcc:420 cix0c:360|",
  "Asia/Dili": "480|9m6yo:540|",
  "Asia/Dubai": "240||",
  "Asia/Famagusta": "120|9gsxo:180 9ni1o:120|3,25,0,180,180;10,25,0,240,120",
  "Asia/Gaza":
    "120|9hloo:180 9n7v0:120 9su4o:180 9ygb0:120 a42ko:180 a9or0:120 afb0o:180 akx70:120 aqjgo:180 avq4o:120 b1rwo:180 b732c:120 bclwo:180 bhz70:120 bnvgo:180 bsyuc:120 bz1oo:180 c3sr0:120 caa4o:180 cf90o:120 cljop:180 cprv0:120 cwysp:180 d0qb0:120 d878o:180 ddloo:120 djfoo:180 dp1v0:120 duo4o:180 e15f0:120 e5xoo:180 ecdwo:120 eh66c:180 env8o:120 esemc:180 ez3oo:120 f3n2c:180 fac4o:120 ff24o:180 flkj0:120 fqboo:180 fwt0o:120 g1k4o:180 g884o:120 gctoo:180 gjhqc:120 gp400:180 guq6c:120 h04o0:180 h5ymc:120 hb5c0:180 hh72c:120 hly80:180 hsfic:120 hx6o0:180 i3vqc:120 i8f40:180 if46c:120 ijnk0:180 iqcmc:120 iv3s0:180 j1l2c:120 j6c80:180 jctic:120 jhko0:180 jo9qc:120 jst40:180 jzi6c:120 k41k0:180 kaqmc:120 kfa00:180 klz2c:120 kqq80:180 kwzqc:120 l1yo0:180 l80ec:120 ld740:180 litac:120 lofk0:180 lttyc:120 lzo00:180 m4muc:120 m65c0:180 m6d2c:120 mb480:180 mfnic:120 mgy80:180 mhlic:120 mmco0:180 mqo6c:120 mryw0:180 mstyc:120 mxl40:180 n1h2c:120 n2zk0:180 n42ec:120 n8tk0:180 nchqc:120 ndsg0:180 nfimc:120 nk200:180 nniec:120 not40:180 nqr2c:120 nvag0:180 nybac:120 nzts0:180 o1zic:120 o6qo0:180 o9byc:120 oamo0:180 od7yc:120 ohz40:180 ok4uc:120 olnc0:180 oogec:120 ot7k0:180 ov5ic:120 owg80:180 ozwmc:120 p4g00:180 p666c:120 p7gw0:180 pb52c:120 pfog0:180 pgz2c:120 pihk0:180 pmdic:120 pr4o0:180 przqc:120 ptag0:180 pxlyc:120 q2d40:180 q2smc:120 q4b40:180 q8uec:120 qdlk0:180 qdtac:120 qfbs0:180 qk2uc:120 qq4o0:180 qvj2c:120 r15c0:180 r6ric:120 rby80:180 rhzyc:120 rmyw0:180 rt8ec:120 rxzk0:180 s4guc:120 s9800:180 sfx2c:120 skgg0:180 sr5ic:120 svow0:180 t2dyc:120 t6xc0:180 tdmec:120 tidk0:180 touuc:120 ttm00:180 u03ac:120 u4ug0:180 ubjic:120 ug2w0:180 umryc:120 urbc0:180 uxsmc:120 v2rk0:180 v8tac:120 ve000:180 vjtyc:120 vp8g0:180 vumuc:120 w0gw0:180 w5nic:120 w6y80:180 w75yc:120 wbpc0:180 wgo6c:120 whyw0:180 wieec:120 wmxs0:180 wrh2c:120 wszk0:180 wtmuc:120 wye00:180 x2hqc:120 x3sg0:180 x4vac:120 x9mg0:180 xdamc:120 xet40:180 xg3qc:120 xkuw0:180 xobac:120 xpts0:180 xrjyc:120 xw3c0:180 xzbyc:120 y0mo0:180 y2sec:120 y7bs0:180 ya4uc:120 ybnc0:180 ye0uc:120 yis00:180 yl5ic:120 ymg80:180 yp9ac:120 yu0g0:180 yw66c:120 yxgw0:180 z0hqc:120 z58w0:180 z6z2c:120 z8hk0:180 zbq6c:120 zghc0:180 zhzqc:120 zjag0:180 zn6ec:120 zrps0:180 zssmc:120 zub40:180 zyeuc:120 102y80:180 103tac:120 105bs0:180 109nac:120 10eeg0:180 10etyc:120 10g4o0:180 10kvqc:120|3,25,6,120,180;10,25,6,120,120",
  "Asia/Hebron":
    "120|9hloo:180 9n7v0:120 9su4o:180 9ygb0:120 a42ko:180 a9or0:120 afb0o:180 akx70:120 aqjgo:180 avq4o:120 b1rwo:180 b732c:120 bclwo:180 bhz70:120 bnvgo:180 bsyuc:120 bz1oo:180 c3w30:120 caa4o:180 cf90o:120 cliko:180 cprv0:120 cwysp:180 d0qb0:120 d1mko:180 d2kz0:120 d878o:180 ddloo:120 djfoo:180 dp1v0:120 duo4o:180 e15f0:120 e5xoo:180 ecdwo:120 eh66c:180 env8o:120 esemc:180 ez3oo:120 f3n2c:180 fac4o:120 ff24o:180 flkj0:120 fqboo:180 fwt0o:120 g1k4o:180 g884o:120 gctoo:180 gjhqc:120 gp400:180 guq6c:120 h04o0:180 h5ymc:120 hb5c0:180 hh72c:120 hly80:180 hsfic:120 hx6o0:180 i3vqc:120 i8f40:180 if46c:120 ijnk0:180 iqcmc:120 iv3s0:180 j1l2c:120 j6c80:180 jctic:120 jhko0:180 jo9qc:120 jst40:180 jzi6c:120 k41k0:180 kaqmc:120 kfa00:180 klz2c:120 kqq80:180 kwzqc:120 l1yo0:180 l80ec:120 ld740:180 litac:120 lofk0:180 lttyc:120 lzo00:180 m4muc:120 m65c0:180 m6d2c:120 mb480:180 mfnic:120 mgy80:180 mhlic:120 mmco0:180 mqo6c:120 mryw0:180 mstyc:120 mxl40:180 n1h2c:120 n2zk0:180 n42ec:120 n8tk0:180 nchqc:120 ndsg0:180 nfimc:120 nk200:180 nniec:120 not40:180 nqr2c:120 nvag0:180 nybac:120 nzts0:180 o1zic:120 o6qo0:180 o9byc:120 oamo0:180 od7yc:120 ohz40:180 ok4uc:120 olnc0:180 oogec:120 ot7k0:180 ov5ic:120 owg80:180 ozwmc:120 p4g00:180 p666c:120 p7gw0:180 pb52c:120 pfog0:180 pgz2c:120 pihk0:180 pmdic:120 pr4o0:180 przqc:120 ptag0:180 pxlyc:120 q2d40:180 q2smc:120 q4b40:180 q8uec:120 qdlk0:180 qdtac:120 qfbs0:180 qk2uc:120 qq4o0:180 qvj2c:120 r15c0:180 r6ric:120 rby80:180 rhzyc:120 rmyw0:180 rt8ec:120 rxzk0:180 s4guc:120 s9800:180 sfx2c:120 skgg0:180 sr5ic:120 svow0:180 t2dyc:120 t6xc0:180 tdmec:120 tidk0:180 touuc:120 ttm00:180 u03ac:120 u4ug0:180 ubjic:120 ug2w0:180 umryc:120 urbc0:180 uxsmc:120 v2rk0:180 v8tac:120 ve000:180 vjtyc:120 vp8g0:180 vumuc:120 w0gw0:180 w5nic:120 w6y80:180 w75yc:120 wbpc0:180 wgo6c:120 whyw0:180 wieec:120 wmxs0:180 wrh2c:120 wszk0:180 wtmuc:120 wye00:180 x2hqc:120 x3sg0:180 x4vac:120 x9mg0:180 xdamc:120 xet40:180 xg3qc:120 xkuw0:180 xobac:120 xpts0:180 xrjyc:120 xw3c0:180 xzbyc:120 y0mo0:180 y2sec:120 y7bs0:180 ya4uc:120 ybnc0:180 ye0uc:120 yis00:180 yl5ic:120 ymg80:180 yp9ac:120 yu0g0:180 yw66c:120 yxgw0:180 z0hqc:120 z58w0:180 z6z2c:120 z8hk0:180 zbq6c:120 zghc0:180 zhzqc:120 zjag0:180 zn6ec:120 zrps0:180 zssmc:120 zub40:180 zyeuc:120 102y80:180 103tac:120 105bs0:180 109nac:120 10eeg0:180 10etyc:120 10g4o0:180 10kvqc:120|3,25,6,120,180;10,25,6,120,120",
  "Asia/Hovd":
    "420|9t2vo:480 9xty0:420 a3g7o:480 a92e0:420 aeono:480 akau0:420 apx3o:480 avja0:420 b15jo:480 b6rq0:420 bcdzo:480 bi7y0:420 e5xjo:480 ebjmo:420 eh5zo:480 ems2o:420|",
  "Asia/Irkutsk":
    "480|9gsm0:540 9nhq0:480 9s120:540 9yq60:480 a3ha0:540 a9ym0:480 aepq0:540 al720:480 apy60:540 awna0:480 b16m0:540 b7vq0:480 bcf20:540 bj460:480 bnni0:540 bucm0:480 bz3q0:540 c5l20:480 cac60:540 cgti0:480 clkm0:540 cs9q0:480 cwt20:540 e17gc:480|",
  "Asia/Jayapura": "540||",
  "Asia/Jerusalem":
    "120|9he00:180 9msco:120 9shyc:180 9xoko:120 a3fac:180 a9cko:120 aenqc:180 akhoo:120 aq9ic:180 avg4o:120 b1cg0:180 b78mc:120 bckw0:180 bi9ac:120 bntc0:180 bt26c:120 bz1s0:180 c4xyc:120 caa80:180 cfymc:120 clio0:180 cqric:120 cwyw0:180 d2nac:120 d87c0:180 ddnyc:120 djfs0:180 dpzac:120|3,23,5,120,180;10,25,0,120,120",
  "Asia/Kabul": "270||",
  "Asia/Karachi": "300|a3p3o:360 a9ba0:300 c11ro:360 c5rq0:300 cav3o:360 ch1a0:300|",
  "Asia/Kathmandu": "345||",
  "Asia/Khandyga":
    "540|9gskc:600 9nhoc:540 9s10c:600 9yq4c:540 a3h8c:600 a9ykc:540 aepoc:600 al70c:540 an9d0:600 apy2o:660 awn6o:600 b16io:660 b7vmo:600 bceyo:660 bj42o:600 bnneo:660 bucio:600 bz3mo:660 c5kyo:600 cac2o:660 cgteo:600 clkio:660 cs9mo:600 cwsyo:660 d21po:600 e17eo:540|",
  "Asia/Krasnoyarsk":
    "420|9gsno:480 9nhro:420 9s13o:480 9yq7o:420 a3hbo:480 a9yno:420 aepro:480 al73o:420 apy7o:480 awnbo:420 b16no:480 b7vro:420 bcf3o:480 bj47o:420 bnnjo:480 bucno:420 bz3ro:480 c5l3o:420 cac7o:480 cgtjo:420 clkno:480 cs9ro:420 cwt3o:480 e17i0:420|",
  "Asia/Magadan":
    "660|9gsh0:720 9nhl0:660 9s0x0:720 9yq10:660 a3h50:720 a9yh0:660 aepl0:720 al6x0:660 apy10:720 awn50:660 b16h0:720 b7vl0:660 bcex0:720 bj410:660 bnnd0:720 buch0:660 bz3l0:720 c5kx0:660 cac10:720 cgtd0:660 clkh0:720 cs9l0:660 cwsx0:720 e17bc:600 ei22o:660|",
  "Asia/Novokuznetsk":
    "420|9gsno:480 9nhro:420 9s13o:480 9yq7o:420 a3hbo:480 a9yno:420 aepro:480 al73o:420 apy7o:480 awnbo:420 b16no:480 b7vro:420 bcf3o:480 bj47o:420 bnnjo:480 bucno:420 bz3ro:480 c5l3o:420 cac7o:480 cgtjo:420 cs9tc:360 cwt5c:420|",
  "Asia/Novosibirsk":
    "360|9gspc:420 9nhtc:360 9s15c:420 9yq9c:360 a3hdc:420 a9ypc:360 aeptc:420 al75c:360 apy9c:420 awndc:360 b16pc:420 b7vtc:360 bcf5c:420 bj49c:360 bnnlc:420 bucpc:360 bz3tc:420 c5l5c:360 cac9c:420 cgtlc:360 clkpc:420 cs9tc:360 cwt5c:420 e17jo:360 ekvdc:420|",
  "Asia/Omsk":
    "360|9gspc:420 9nhtc:360 9s15c:420 9yq9c:360 a3hdc:420 a9ypc:360 aeptc:420 al75c:360 apy9c:420 awndc:360 b16pc:420 b7vtc:360 bcf5c:420 bj49c:360 bnnlc:420 bucpc:360 bz3tc:420 c5l5c:360 cac9c:420 cgtlc:360 clkpc:420 cs9tc:360 cwt5c:420 e17jo:360|",
  "Asia/Pyongyang": "540|ea8x0:510 f4xd0:540|",
  "Asia/Qostanay":
    "300|9gsr0:360 9nhv0:300 9s170:360 9yqb0:300 a3hf0:360 a9yr0:300 aepv0:360 al770:300 apyb0:360 gyku0:300|",
  "Asia/Qyzylorda":
    "300|9gsr0:360 9nhv0:300 9s170:360 9yqb0:300 a3hf0:360 a9yr0:300 aepv0:360 al770:300 apyb0:360 fc120:300|",
  "Asia/Rangoon": "390||",
  "Asia/Sakhalin":
    "600|9gsio:660 9nhmo:600 9s0yo:660 9yq2o:600 a3h6o:660 a9yio:600 aepmo:660 al6yo:600 apy2o:660 awn6o:600 b16io:660 b7vmo:600 bceyo:660 bj42o:600 bnneo:660 bucio:600 bz3mo:660 c5kyo:600 cac2o:660 cgteo:600 clkio:660 cs9mo:600 cwsyo:660 e17d0:600 eh6yo:660|",
  "Asia/Srednekolymsk":
    "660|9gsh0:720 9nhl0:660 9s0x0:720 9yq10:660 a3h50:720 a9yh0:660 aepl0:720 al6x0:660 apy10:720 awn50:660 b16h0:720 b7vl0:660 bcex0:720 bj410:660 bnnd0:720 buch0:660 bz3l0:720 c5kx0:660 cac10:720 cgtd0:660 clkh0:720 cs9l0:660 cwsx0:720 e17bc:660|",
  "Asia/Tbilisi":
    "240|9gspc:300 9nhro:240 9s15c:300 9yq7o:240 a3hdc:300 a9yno:240 aeptc:300 al73o:240 apy9c:300 asrbo:240 awnic:180 b16uc:240|",
  "Asia/Tehran":
    "210|9gn66:270 9mbki:210 9rxu6:270 9xm8i:210 a37e6:270 a8vsi:210 aegy6:270 ak5ci:210 apqi6:270 avewi:210 b1166:270 b6pki:210 bytu6:270 c4i8i:210 ca4i6:270 cfswi:210 cle26:270 cr2gi:210 cwnm6:270 d2c0i:210 d7x66:270 ddlki:210 dj7u6:270 dow8i:210 duhe6:270 e05si:210 e5qy6:270 ebfci:210 eh0i6:270 emowi:210 esb66:270 exzki:210 f3kq6:270 f994i:210 feua6:270 fkioi:210 fq3u6:270 fvs8i:210 g1ei6:270 g72wi:210 gco26:270 gicgi:210|",
  "Asia/Thimphu": "360||",
  "Asia/Tomsk":
    "420|9gsno:480 9nhro:420 9s13o:480 9yq7o:420 a3hbo:480 a4fro:420 a9ypc:360 aeptc:420 al75c:360 apy9c:420 awndc:360 b16pc:420 b7vtc:360 bcf5c:420 bj49c:360 bnnlc:420 bucpc:360 bz3tc:420 c5l5c:360 cac9c:420 cgtlc:360 clkpc:420 cs9tc:360 cwt5c:420 e17jo:360 ej55c:420|",
  "Asia/Ulaanbaatar":
    "480|9t2u0:540 9xtwc:480 a3g60:540 a92cc:480 aeom0:540 akasc:480 apx20:540 avj8c:480 b15i0:540 b6roc:480 bcdy0:540 bi7wc:480 e5xi0:540 ebjl0:480 eh5y0:540 ems10:480|",
  "Asia/Ust-Nera":
    "660|9gsh0:720 9nhl0:660 9s0x0:720 9yq10:660 a3h50:720 a9yh0:660 aepl0:720 al6x0:660 apy10:720 awn50:660 b16h0:720 b7vl0:660 bcex0:720 bj410:660 bnnd0:720 buch0:660 bz3l0:720 c5kx0:660 cac10:720 cgtd0:660 clkh0:720 cs9l0:660 cwsx0:720 d21o0:660 e17d0:600|",
  "Asia/Vladivostok":
    "600|9gsio:660 9nhmo:600 9s0yo:660 9yq2o:600 a3h6o:660 a9yio:600 aepmo:660 al6yo:600 apy2o:660 awn6o:600 b16io:660 b7vmo:600 bceyo:660 bj42o:600 bnneo:660 bucio:600 bz3mo:660 c5kyo:600 cac2o:660 cgteo:600 clkio:660 cs9mo:600 cwsyo:660 e17d0:600|",
  "Asia/Yakutsk":
    "540|9gskc:600 9nhoc:540 9s10c:600 9yq4c:540 a3h8c:600 a9ykc:540 aepoc:600 al70c:540 apy4c:600 awn8c:540 b16kc:600 b7voc:540 bcf0c:600 bj44c:540 bnngc:600 buckc:540 bz3oc:600 c5l0c:540 cac4c:600 cgtgc:540 clkkc:600 cs9oc:540 cwt0c:600 e17eo:540|",
  "Asia/Yekaterinburg":
    "300|9gsr0:360 9nhv0:300 9s170:360 9yqb0:300 a3hf0:360 a9yr0:300 aepv0:360 al770:300 apyb0:360 awnf0:300 b16r0:360 b7vv0:300 bcf70:360 bj4b0:300 bnnn0:360 bucr0:300 bz3v0:360 c5l70:300 cacb0:360 cgtn0:300 clkr0:360 cs9v0:300 cwt70:360 e17lc:300|",
  "Asia/Yerevan":
    "240|9gsso:300 9nhwo:240 9s18o:300 9yqco:240 a3hgo:300 a9yso:240 aepwo:300 al78o:240 apyco:300 awngo:240 b16so:300 b7vwo:240 bcf8o:300 bj4co:240 bnnoo:300 bucso:240 bz3wo:300 c5l8o:240 cacco:300 cgtoo:240 clkso:300 cs9wo:240 cwt8o:300 d3ico:240|",
  "Atlantic/Azores": "-60|9gsxo:0 9ni1o:-60|3,24,6,1440,0;10,25,0,60,-60",
  "Atlantic/Canary": "0|9gsxo:60 9ni1o:0|3,25,0,60,60;10,25,0,120,0",
  "Atlantic/Cape_Verde": "-60||",
  "Atlantic/South_Georgia": "-120||",
  "Atlantic/Stanley":
    "-180|9hgd0:-240 9lzqo:-180 9sowc:-240 9x0i0:-180 a454c:-240 a88y0:-180 afdkc:-240 ajp60:-180 aqm0c:-240 auxm0:-180 b1ugc:-240 b6620:-180 bd2wc:-240 bhei0:-180 bobcc:-240 bsmy0:-180 bzrkc:-240 c4360:-180 cb00c:-240 cfbm0:-180 cm8gc:-240 cqk20:-180|",
  "Australia/Adelaide":
    "630|9gsji:570 9nhni:630 9s0zi:570 9yq3i:630 a3h7i:570 a9yji:630 aepni:570 al6zi:630 apy3i:570 awn7i:630 b16ji:570 b7vni:630 bcmri:570 bj43i:630 bnnfi:570 bucji:630 bzbfi:570 c4xni:630|4,1,0,180,570;10,1,0,120,630",
  "Australia/Darwin": "570||",
  "Australia/Eucla": "525|bk70r:585 bnngr:525 buckr:585 bz3or:525 c5l0r:585 cac4r:525|",
  "Australia/Lord_Howe":
    "660|9gsh0:630 9ljlu:660 9s0x0:630 9yq1u:660 a3h50:630 a9yhu:660 aepl0:630 al6xu:660 apy10:630 awn5u:660 b16h0:630 b7vlu:660 bcmp0:630 bj41u:660 bnnd0:630 buchu:660 bzbd0:630 c4xlu:660|4,1,0,120,630;10,1,0,120,660",
  "Australia/Melbourne":
    "660|9gsio:600 9ljmo:660 9s0yo:600 9yq2o:660 a3h6o:600 a9yio:660 aepmo:600 al6yo:660 apy2o:600 awn6o:660 b16io:600 b7vmo:660 bcmqo:600 bj42o:660 bnneo:600 bucio:660 bzbeo:600 c4xmo:660|4,1,0,180,600;10,1,0,120,660",
  "Australia/Perth": "480|bk720:540 bnni0:480 bucm0:540 bz3q0:480 c5l20:540 cac60:480|",
  "Europe/Astrakhan":
    "180|9gsuc:240 9nhyc:180 9s1ac:240 9yqec:180 a3hic:240 a9yuc:180 aepyc:240 al7ac:180 apyec:240 awnic:180 b16uc:240 b7vyc:180 bcfac:240 bj4ec:180 bnnqc:240 bucuc:180 bz3yc:240 c5lac:180 cacec:240 cgtqc:180 clkuc:240 cs9yc:180 cwtac:240 e17oo:180 eh7ac:240|",
  "Europe/Chisinau":
    "120|9gsw0:180 9ni00:120 9s1c0:180 9yqg0:120 a3hk0:180 a9yw0:120 aeq00:180 al7c0:120 apyg0:180 awnk0:120 b16w0:180 b7w00:120 bcfc0:180 bj4g0:120 bnns0:180 bucw0:120 bz400:180 c5lc0:120 cacg0:180 cgts0:120 clkw0:180 csa00:120 cwtc0:180 d3ig0:120 d81s0:180 deqw0:120 dji00:180 dpzc0:120 duqg0:180 e17s0:120 e5yw0:180 ecg80:120 eh7c0:180 enwg0:120 esfs0:180 ez4w0:120 f3o80:180 fadc0:120 ff4g0:180 flls0:120 fqcw0:180 fwu80:120 g1lc0:180 g8ag0:120 gctto:180 gjixo:120|3,25,0,180,180;10,25,0,240,120",
  "Europe/Istanbul":
    "120|9gsuc:180 9nhyc:120 9s1ac:180 9yqec:120 a3hic:180 a9yuc:120 aepyc:180 al7ac:120 apyec:180 awnic:120 b16uc:180 b7vyc:120 bcfac:180 bj4ec:120 bnnto:180 bucxo:120 bz41o:180 c5ldo:120 cacho:180 cgtto:120 clkxo:180 csa1o:120 cwuho:180 d3iho:120 d81to:180 deqxo:120 dji1o:180 dpzdo:120 durlo:180 e17to:120 e5yxo:180 ecvto:120 eh7do:180|",
  "Europe/Kaliningrad":
    "120|9gsw0:180 9ni00:120 9s1c0:180 9yqg0:120 a3hk0:180 a9yw0:120 aeq00:180 al7c0:120 apyg0:180 awnk0:120 b16w0:180 b7w00:120 bcfc0:180 bj4g0:120 bnns0:180 bucw0:120 bz400:180 c5lc0:120 cacg0:180 cgts0:120 clkw0:180 csa00:120 cwtc0:180 e17qc:120|",
  "Europe/Kirov":
    "180|9gsuc:240 9nhyc:180 9s1ac:240 9yqec:180 a3hic:240 a9yuc:180 aepyc:240 al7ac:180 apyec:240 awnic:180 b16uc:240 b7vyc:180 bcfac:240 bj4ec:180 bnnqc:240 bucuc:180 bz3yc:240 c5lac:180 cacec:240 cgtqc:180 clkuc:240 cs9yc:180 cwtac:240 e17oo:180|",
  "Europe/Minsk":
    "120|9gsw0:180 9ni00:120 9s1c0:180 9yqg0:120 a3hk0:180 a9yw0:120 aeq00:180 al7c0:120 apyg0:180 awnk0:120 b16w0:180 b7w00:120 bcfc0:180 bj4g0:120 bnns0:180 bucw0:120 bz400:180 c5lc0:120 cacg0:180 cgts0:120 clkw0:180 csa00:120 cwtc0:180|",
  "Europe/Riga": "120|9s1do:180 9yqho:120|3,25,0,180,180;10,25,0,240,120",
  "Europe/Samara":
    "240|9gsso:300 9nhwo:240 9s18o:300 9yqco:240 a3hgo:300 a9yso:240 aepwo:300 al78o:240 apyco:300 awngo:240 b16so:300 b7vwo:240 bcf8o:300 bj4co:240 bnnoo:300 bucso:240 bz3wo:300 c5l8o:240 cacco:300 cgtoo:240 cs9yc:180 cwtac:240|",
  "Europe/Saratov":
    "180|9gsuc:240 9nhyc:180 9s1ac:240 9yqec:180 a3hic:240 a9yuc:180 aepyc:240 al7ac:180 apyec:240 awnic:180 b16uc:240 b7vyc:180 bcfac:240 bj4ec:180 bnnqc:240 bucuc:180 bz3yc:240 c5lac:180 cacec:240 cgtqc:180 clkuc:240 cs9yc:180 cwtac:240 e17oo:180 eozac:240|",
  "Europe/Simferopol":
    "120|9gsxo:180 9ni1o:120 9s1do:180 9yqho:120 a3hlo:180 a9yxo:120 aeq1o:180 al7do:120 apyho:180 awnlo:120 b16xo:180 b7w1o:120 bcfdo:180 bj4ho:120 bnnto:180 bucxo:120 bz41o:180 c5ldo:120 cacho:180 cgtto:120 clkxo:180 csa1o:120 cwtdo:180 d3iho:120 d81to:180 deqxo:120 dji1o:180 dpzdo:120 duqg0:240 e17oo:180|",
  "Europe/Tallinn": "120|a3hlo:180 a9yxo:120|3,25,0,180,180;10,25,0,240,120",
  "Europe/Vilnius": "120|aeq1o:180 al7do:120|3,25,0,180,180;10,25,0,240,120",
  "Europe/Volgograd":
    "180|9gsuc:240 9nhyc:180 9s1ac:240 9yqec:180 a3hic:240 a9yuc:180 aepyc:240 al7ac:180 apyec:240 awnic:180 b16uc:240 b7vyc:180 bcfac:240 bj4ec:180 bnnqc:240 bucuc:180 bz3yc:240 c5lac:180 cacec:240 cgtqc:180 clkuc:240 cs9yc:180 cwtac:240 e17oo:180 fadac:240 fys4o:180|",
  "Indian/Mauritius": "240|c5l8o:300 cacb0:240|",
  "Pacific/Apia":
    "-660|cr7mc:-600 cx0nc:-660 d2f3c:-600 d5eoo:840 d893c:780 ddvbc:840 djpbc:780 dp3rc:840 duxrc:780 e0c7c:840 e667c:780 ebknc:840 ehenc:780 emt3c:840 esn3c:780 ey1jc:840 f3vjc:780 f9hrc:840 ffbrc:780 fkq7c:840 fqk7c:780 fvync:840 g1snc:780|",
  "Pacific/Bougainville": "600|e35eo:660|",
  "Pacific/Chatham":
    "825|9gknc:765 9mmfc:825 9rt3c:765 9y2nc:825 a31jc:765 a9b3c:825 ae9zc:765 akjjc:825 apq7c:765 avrzc:825 b0ync:765 b70fc:825 bc73c:765 bi8vc:825 bnfjc:765 bthbc:825|4,1,0,225,765;9,24,0,165,825",
  "Pacific/Easter":
    "-300|9gdh0:-360 9n2mo:-300 9rlx0:-360 9yb2o:-300 a2ud0:-360 a9jio:-300 ae2t0:-360 akryo:-300 apj10:-360 aw0eo:-300 b0rh0:-360 b78uo:-300 bbzx0:-360 bip2o:-300 bn8d0:-360 btxio:-300 bz450:-360 c55yo:-300 c9x10:-360 cgeeo:-300 clst0:-360 crmuo:-300 cy450:-360 d1cuo:-300 d94t0:-360 dd0uo:-300 dkd90:-360 doh2o:-300 dvlp0:-360 dzpio:-300 eipx0:-360 elj2o:-300 etyd0:-360 ewrio:-300 f56t0:-360 f7zyo:-300 ffcd0:-360 fk3io:-300 fqkt0:-360 fvbyo:-300 g1t90:-360 g6keo:-300 gd1p0:-360 gi0mo:-300 goa50:-360 gt1ao:-300|4,1,6,1320,-360;9,1,6,1320,-300",
  "Pacific/Efate": "660||",
  "Pacific/Enderbury": "780||",
  "Pacific/Fakaofo": "-660|d5eqc:780|",
  "Pacific/Fiji":
    "780|9fxbc:720 chw7c:780 clkfc:720 cs1rc:780 cw5jc:720 d3a7c:780 d63bc:720 deinc:780 dhbrc:720 dpyvc:780 dsk5o:720 e1f3c:780 e3snc:720 ecnjc:780 ef13c:720 eo3rc:780 eq9jc:720 ezc7c:780 f1hzc:720 faknc:780 fcqfc:720 fm0vc:780 fnyvc:720 fyjzc:780 fzf3c:720|",
  "Pacific/Funafuti": "720||",
  "Pacific/Gambier": "-540||",
  "Pacific/Honolulu": "-600||",
  "Pacific/Kiritimati": "840||",
  "Pacific/Marquesas": "-570||",
  "Pacific/Midway": "-660||",
  "Pacific/Norfolk": "690|ebsg6:660 fky10:720|4,1,0,180,660;10,1,0,120,720",
  "Pacific/Pitcairn": "-480||",
  "Pacific/Tongatapu": "840|9gklo:780 9np9o:840 9qak0:780 9yxpo:840 a1j00:780 eo3po:840 eq9ho:780|"
}

/** Zones whose clocks have shown the same as those of another since 2000. */
export const aliases: Readonly<Record<string, string>> = {
  "Africa/Accra": "Africa/Abidjan",
  "Africa/Asmara": "Africa/Addis_Ababa",
  "Africa/Asmera": "Africa/Addis_Ababa",
  "Africa/Bamako": "Africa/Abidjan",
  "Africa/Bangui": "Africa/Algiers",
  "Africa/Banjul": "Africa/Abidjan",
  "Africa/Bissau": "Africa/Abidjan",
  "Africa/Brazzaville": "Africa/Algiers",
  "Africa/Bujumbura": "Africa/Blantyre",
  "Africa/Conakry": "Africa/Abidjan",
  "Africa/Dakar": "Africa/Abidjan",
  "Africa/Dar_es_Salaam": "Africa/Addis_Ababa",
  "Africa/Djibouti": "Africa/Addis_Ababa",
  "Africa/Douala": "Africa/Algiers",
  "Africa/El_Aaiun": "Africa/Casablanca",
  "Africa/Freetown": "Africa/Abidjan",
  "Africa/Gaborone": "Africa/Blantyre",
  "Africa/Harare": "Africa/Blantyre",
  "Africa/Johannesburg": "Africa/Blantyre",
  "Africa/Kampala": "Africa/Addis_Ababa",
  "Africa/Kigali": "Africa/Blantyre",
  "Africa/Kinshasa": "Africa/Algiers",
  "Africa/Lagos": "Africa/Algiers",
  "Africa/Libreville": "Africa/Algiers",
  "Africa/Lome": "Africa/Abidjan",
  "Africa/Luanda": "Africa/Algiers",
  "Africa/Lubumbashi": "Africa/Blantyre",
  "Africa/Lusaka": "Africa/Blantyre",
  "Africa/Malabo": "Africa/Algiers",
  "Africa/Maputo": "Africa/Blantyre",
  "Africa/Maseru": "Africa/Blantyre",
  "Africa/Mbabane": "Africa/Blantyre",
  "Africa/Mogadishu": "Africa/Addis_Ababa",
  "Africa/Monrovia": "Africa/Abidjan",
  "Africa/Nairobi": "Africa/Addis_Ababa",
  "Africa/Ndjamena": "Africa/Algiers",
  "Africa/Niamey": "Africa/Algiers",
  "Africa/Nouakchott": "Africa/Abidjan",
  "Africa/Ouagadougou": "Africa/Abidjan",
  "Africa/Porto-Novo": "Africa/Algiers",
  "America/Antigua": "America/Anguilla",
  "America/Argentina/Rio_Gallegos": "America/Argentina/La_Rioja",
  "America/Aruba": "America/Anguilla",
  "America/Barbados": "America/Anguilla",
  "America/Blanc-Sablon": "America/Anguilla",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/La_Rioja",
  "America/Cayenne": "America/Belem",
  "America/Cayman": "America/Bogota",
  "America/Coral_Harbour": "America/Bogota",
  "America/Cordoba": "America/Argentina/Buenos_Aires",
  "America/Costa_Rica": "America/Belize",
  "America/Curacao": "America/Anguilla",
  "America/Danmarkshavn": "Africa/Abidjan",
  "America/Dawson_Creek": "America/Creston",
  "America/Denver": "America/Boise",
  "America/Dominica": "America/Anguilla",
  "America/El_Salvador": "America/Belize",
  "America/Grand_Turk": "America/Detroit",
  "America/Grenada": "America/Anguilla",
  "America/Guadeloupe": "America/Anguilla",
  "America/Guayaquil": "America/Bogota",
  "America/Guyana": "America/Anguilla",
  "America/Halifax": "America/Glace_Bay",
  "America/Hermosillo": "America/Creston",
  "America/Indiana/Marengo": "America/Indiana/Indianapolis",
  "America/Indiana/Tell_City": "America/Indiana/Knox",
  "America/Indiana/Vevay": "America/Indiana/Indianapolis",
  "America/Indiana/Vincennes": "America/Indiana/Petersburg",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Inuvik": "America/Boise",
  "America/Jamaica": "America/Bogota",
  "America/Jujuy": "America/Argentina/Salta",
  "America/Juneau": "America/Anchorage",
  "America/Kentucky/Louisville": "America/Detroit",
  "America/Kentucky/Monticello": "America/Iqaluit",
  "America/Kralendijk": "America/Anguilla",
  "America/La_Paz": "America/Anguilla",
  "America/Lima": "America/Bogota",
  "America/Louisville": "America/Detroit",
  "America/Lower_Princes": "America/Anguilla",
  "America/Maceio": "America/Fortaleza",
  "America/Manaus": "America/Anguilla",
  "America/Marigot": "America/Anguilla",
  "America/Martinique": "America/Anguilla",
  "America/Menominee": "America/Chicago",
  "America/Mexico_City": "America/Merida",
  "America/Monterrey": "America/Merida",
  "America/Montserrat": "America/Anguilla",
  "America/Nassau": "America/Detroit",
  "America/New_York": "America/Detroit",
  "America/Nome": "America/Anchorage",
  "America/North_Dakota/Center": "America/Chicago",
  "America/Nuuk": "America/Godthab",
  "America/Panama": "America/Bogota",
  "America/Paramaribo": "America/Belem",
  "America/Phoenix": "America/Creston",
  "America/Port_of_Spain": "America/Anguilla",
  "America/Porto_Velho": "America/Anguilla",
  "America/Puerto_Rico": "America/Anguilla",
  "America/Regina": "America/Belize",
  "America/Rio_Branco": "America/Eirunepe",
  "America/Sitka": "America/Anchorage",
  "America/St_Barthelemy": "America/Anguilla",
  "America/St_Kitts": "America/Anguilla",
  "America/St_Lucia": "America/Anguilla",
  "America/St_Thomas": "America/Anguilla",
  "America/St_Vincent": "America/Anguilla",
  "America/Swift_Current": "America/Belize",
  "America/Thule": "America/Glace_Bay",
  "America/Toronto": "America/Detroit",
  "America/Tortola": "America/Anguilla",
  "America/Whitehorse": "America/Dawson",
  "America/Yakutat": "America/Anchorage",
  "Antarctica/Palmer": "America/Punta_Arenas",
  "Antarctica/Rothera": "America/Belem",
  "Antarctica/Syowa": "Africa/Addis_Ababa",
  "Arctic/Longyearbyen": "Africa/Ceuta",
  "Asia/Aden": "Africa/Addis_Ababa",
  "Asia/Atyrau": "Asia/Aqtau",
  "Asia/Bahrain": "Africa/Addis_Ababa",
  "Asia/Dushanbe": "Asia/Ashgabat",
  "Asia/Ho_Chi_Minh": "Asia/Bangkok",
  "Asia/Hong_Kong": "Asia/Brunei",
  "Asia/Jakarta": "Asia/Bangkok",
  "Asia/Kamchatka": "Asia/Anadyr",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Kolkata": "Asia/Calcutta",
  "Asia/Kuala_Lumpur": "Asia/Brunei",
  "Asia/Kuching": "Asia/Brunei",
  "Asia/Kuwait": "Africa/Addis_Ababa",
  "Asia/Macau": "Asia/Brunei",
  "Asia/Makassar": "Asia/Brunei",
  "Asia/Manila": "Asia/Brunei",
  "Asia/Muscat": "Asia/Dubai",
  "Asia/Nicosia": "Asia/Famagusta",
  "Asia/Oral": "Asia/Aqtau",
  "Asia/Phnom_Penh": "Asia/Bangkok",
  "Asia/Pontianak": "Asia/Bangkok",
  "Asia/Qatar": "Africa/Addis_Ababa",
  "Asia/Riyadh": "Africa/Addis_Ababa",
  "Asia/Saigon": "Asia/Bangkok",
  "Asia/Samarkand": "Asia/Ashgabat",
  "Asia/Seoul": "Asia/Jayapura",
  "Asia/Shanghai": "Asia/Brunei",
  "Asia/Singapore": "Asia/Brunei",
  "Asia/Taipei": "Asia/Brunei",
  "Asia/Tashkent": "Asia/Ashgabat",
  "Asia/Tokyo": "Asia/Jayapura",
  "Asia/Urumqi": "Asia/Thimphu",
  "Asia/Vientiane": "Asia/Bangkok",
  "Asia/Yangon": "Asia/Rangoon",
  "Atlantic/Bermuda": "America/Glace_Bay",
  "Atlantic/Faeroe": "Atlantic/Canary",
  "Atlantic/Faroe": "Atlantic/Canary",
  "Atlantic/Madeira": "Atlantic/Canary",
  "Atlantic/Reykjavik": "Africa/Abidjan",
  "Atlantic/St_Helena": "Africa/Abidjan",
  "Australia/Brisbane": "Antarctica/DumontDUrville",
  "Australia/Broken_Hill": "Australia/Adelaide",
  "Australia/Hobart": "Antarctica/Macquarie",
  "Australia/Lindeman": "Antarctica/DumontDUrville",
  "Australia/Sydney": "Australia/Melbourne",
  "Etc/UTC": "Africa/Abidjan",
  "Europe/Amsterdam": "Africa/Ceuta",
  "Europe/Andorra": "Africa/Ceuta",
  "Europe/Athens": "Asia/Famagusta",
  "Europe/Belgrade": "Africa/Ceuta",
  "Europe/Berlin": "Africa/Ceuta",
  "Europe/Bratislava": "Africa/Ceuta",
  "Europe/Brussels": "Africa/Ceuta",
  "Europe/Bucharest": "Asia/Famagusta",
  "Europe/Budapest": "Africa/Ceuta",
  "Europe/Busingen": "Africa/Ceuta",
  "Europe/Copenhagen": "Africa/Ceuta",
  "Europe/Dublin": "Atlantic/Canary",
  "Europe/Gibraltar": "Africa/Ceuta",
  "Europe/Guernsey": "Atlantic/Canary",
  "Europe/Helsinki": "Asia/Famagusta",
  "Europe/Isle_of_Man": "Atlantic/Canary",
  "Europe/Jersey": "Atlantic/Canary",
  "Europe/Kiev": "Asia/Famagusta",
  "Europe/Kyiv": "Asia/Famagusta",
  "Europe/Lisbon": "Atlantic/Canary",
  "Europe/Ljubljana": "Africa/Ceuta",
  "Europe/London": "Atlantic/Canary",
  "Europe/Luxembourg": "Africa/Ceuta",
  "Europe/Madrid": "Africa/Ceuta",
  "Europe/Malta": "Africa/Ceuta",
  "Europe/Mariehamn": "Asia/Famagusta",
  "Europe/Monaco": "Africa/Ceuta",
  "Europe/Moscow": "Europe/Kirov",
  "Europe/Oslo": "Africa/Ceuta",
  "Europe/Paris": "Africa/Ceuta",
  "Europe/Podgorica": "Africa/Ceuta",
  "Europe/Prague": "Africa/Ceuta",
  "Europe/Rome": "Africa/Ceuta",
  "Europe/San_Marino": "Africa/Ceuta",
  "Europe/Sarajevo": "Africa/Ceuta",
  "Europe/Skopje": "Africa/Ceuta",
  "Europe/Sofia": "Asia/Famagusta",
  "Europe/Stockholm": "Africa/Ceuta",
  "Europe/Tirane": "Africa/Ceuta",
  "Europe/Ulyanovsk": "Europe/Astrakhan",
  "Europe/Vaduz": "Africa/Ceuta",
  "Europe/Vatican": "Africa/Ceuta",
  "Europe/Vienna": "Africa/Ceuta",
  "Europe/Warsaw": "Africa/Ceuta",
  "Europe/Zagreb": "Africa/Ceuta",
  "Europe/Zurich": "Africa/Ceuta",
  GMT: "Africa/Abidjan",
  "Indian/Antananarivo": "Africa/Addis_Ababa",
  "Indian/Chagos": "Asia/Thimphu",
  "Indian/Christmas": "Asia/Bangkok",
  "Indian/Cocos": "Asia/Rangoon",
  "Indian/Comoro": "Africa/Addis_Ababa",
  "Indian/Kerguelen": "Asia/Ashgabat",
  "Indian/Mahe": "Asia/Dubai",
  "Indian/Maldives": "Asia/Ashgabat",
  "Indian/Mayotte": "Africa/Addis_Ababa",
  "Indian/Reunion": "Asia/Dubai",
  "Pacific/Auckland": "Antarctica/McMurdo",
  "Pacific/Chuuk": "Antarctica/DumontDUrville",
  "Pacific/Galapagos": "America/Belize",
  "Pacific/Guadalcanal": "Pacific/Efate",
  "Pacific/Guam": "Antarctica/DumontDUrville",
  "Pacific/Kanton": "Pacific/Enderbury",
  "Pacific/Kosrae": "Pacific/Efate",
  "Pacific/Kwajalein": "Pacific/Funafuti",
  "Pacific/Majuro": "Pacific/Funafuti",
  "Pacific/Nauru": "Pacific/Funafuti",
  "Pacific/Niue": "Pacific/Midway",
  "Pacific/Noumea": "Pacific/Efate",
  "Pacific/Pago_Pago": "Pacific/Midway",
  "Pacific/Palau": "Asia/Jayapura",
  "Pacific/Pohnpei": "Pacific/Efate",
  "Pacific/Ponape": "Pacific/Efate",
  "Pacific/Port_Moresby": "Antarctica/DumontDUrville",
  "Pacific/Rarotonga": "Pacific/Honolulu",
  "Pacific/Saipan": "Antarctica/DumontDUrville",
  "Pacific/Tahiti": "Pacific/Honolulu",
  "Pacific/Tarawa": "Pacific/Funafuti",
  "Pacific/Truk": "Antarctica/DumontDUrville",
  "Pacific/Wake": "Pacific/Funafuti",
  "Pacific/Wallis": "Pacific/Funafuti",
  UTC: "Africa/Abidjan"
}
